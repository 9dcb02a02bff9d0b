/**
 * Judges a limited key's write in its draft, whatever its operation. It covers every changed object before and after,
 * their owners and children, new references and names, and effects beyond these objects.
 */
import { isDeepStrictEqual } from "node:util";
import { findReferences } from "../../schema/references.ts";
import type { Change, Draft, Judge, Reader, StoredObject } from "../../storage/store.ts";
import type { Operation } from "../operation/call.ts";
import { ownedKinds, resourceNamed, resourceOfId } from "../operation/resource-declarations.ts";
import { kindsOf, trafficTypesOf } from "../events/event/event-types.ts";
import { checkTokenWithin, grantsAgentAccess } from "./agent-tokens.ts";
import { newDestination } from "./destinations.ts";
import type { GivenValues } from "./destinations.ts";
import { findMentionedIds, findNewSecrets } from "./mentions.ts";
import { refuseMissingScope, scopeFor } from "../operation/missing-scope.ts";
import { checkReachWithin } from "./reach-checks.ts";
import { reservationsUnder } from "./reservations.ts";
import { isVisible } from "../operation/scope.ts";
import type { KeyScope } from "../operation/scope.ts";
import { docOf } from "../../schema/doc.ts";
import { agentInvitation } from "../../resources/agent-invitation.ts";
import { credential } from "../../resources/credential.ts";
import { serviceToken } from "../../resources/service-token.ts";
import { vault as vaults } from "../../resources/vault.ts";
import { eventSubscription } from "../../resources/event-subscription.ts";

/**
 * Judges writes of the operation by a key with the scope.
 * @param given values that the call itself sets, filled while it runs
 */
export function makeJudge(operation: Operation, scope: KeyScope, givenValues: GivenValues): Judge {
  return (draft) => {
    for (const change of draft.changes()) judgeChange(change, { operation, scope, draft, given: givenValues });
  };
}

interface JudgedWrite {
  readonly operation: Operation;
  readonly scope: KeyScope;
  readonly draft: Draft;
  readonly given: GivenValues;
}

function judgeChange(change: Change, at: JudgedWrite): void {
  const { operation, scope, draft } = at;
  const { kind, before, after } = change;
  const resource = resourceNamed(kind);
  // The server's internal records follow the objects that they belong to.
  if (resource.internal) return;
  for (const state of [before, after]) if (state) demandScope(state, at, isMadeAlong(change, operation));
  for (const owner of ownersOf(change, draft)) demandScope(owner, at, true);
  if (after) for (const child of childrenOf(after, draft)) demandScope(child, at, false);
  if (kind === agentInvitation.name && after && scope.kinds && !scope.kinds.has(credential.name)) {
    throw refuseMissingScope(operation, `type:${credential.name}`, "an invitation creates agent tokens");
  }
  checkSecrets(change, at);
  if (!scope.secrets) checkDestination(change, at);
  if (!scope.prefixes) return judgeEvents(change, at);
  if (kind === "ip_restriction")
    throw refuseMissingScope(operation, "*", "an IP restriction applies to the whole account");
  judgeEvents(change, at);
  if (!after) return;
  checkReferences(change, at);
  for (const [name, holder] of reservationsUnder(before, after, draft)) {
    if (isVisible({ ...scope, kinds: undefined }, holder)) continue;
    const needed = scopeFor({ ...scope, kinds: undefined }, holder);
    throw refuseMissingScope(
      operation,
      needed,
      `"${name}" belongs to ${holder.kind} "${holder.id}", which needs "${needed}"`,
    );
  }
  const isSameAcl = before !== undefined && isDeepStrictEqual(before.doc["acl"], after.doc["acl"]);
  if (isSameAcl) return;
  const anyKind = { ...at, scope: { ...scope, kinds: undefined } };
  if (grantsAgentAccess(kind)) checkTokenWithin(after, anyKind);
  if (kind === serviceToken.name) checkReachWithin(after, anyKind);
}

/** @param anyKind whether only the metadata count, because the client did not request the change directly */
function demandScope(object: StoredObject, { operation, scope }: JudgedWrite, anyKind: boolean): void {
  if (isVisible(anyKind ? { ...scope, kinds: undefined } : scope, object)) return;
  const needed = scopeFor(scope, object);
  throw refuseMissingScope(
    operation,
    needed,
    `the change affects ${object.kind} "${object.id}", which needs "${needed}"`,
  );
}

/** Whether the object is created implicitly, such as the reservation of a name. */
function isMadeAlong({ kind, before }: Change, { resource }: Operation): boolean {
  return !before && kind !== resource?.name;
}

function ownersOf({ kind, before, after }: Change, draft: Reader): StoredObject[] {
  const { ownedBy } = resourceNamed(kind);
  if (!ownedBy) return [];
  return [before, after].flatMap((state) => {
    const id = state?.doc[ownedBy.field];
    // An owner that is deleted too is a separate change.
    const owner = state && typeof id === "string" ? draft.get(state.account_id, ownedBy.kind, id) : undefined;
    return owner ? [owner] : [];
  });
}

function childrenOf({ kind, id }: StoredObject, draft: Reader): StoredObject[] {
  return ownedKinds(kind).flatMap((owned) => (resourceNamed(owned).internal ? [] : draft.children(owned, id)));
}

/** References that already existed may remain. */
function checkReferences({ kind, before, after }: Change, { operation, scope, draft }: JudgedWrite): void {
  if (!after) return;
  const { fields } = resourceNamed(kind);
  const anyKind = { ...scope, kinds: undefined };
  const tiedBy = ({ doc }: StoredObject) => [
    ...findReferences(fields, doc),
    ...findMentionedIds(fields, doc).map((id) => ({
      path: "the traffic policy",
      to: [resourceOfId(id)?.name ?? ""],
      id,
    })),
  ];
  const present = new Set(before && tiedBy(before).map(({ id }) => id));
  for (const { path, to, id } of tiedBy(after)) {
    if (present.has(id)) continue;
    const target = to.map((one) => draft.get(after.account_id, one, id)).find((found) => found !== undefined);
    if (!target || isVisible(anyKind, target)) continue;
    const needed = scopeFor(anyKind, target);
    throw refuseMissingScope(operation, needed, `"${path}" refers to "${id}", which needs the scope "${needed}"`);
  }
}

/**
 * A policy can send the secrets that it reads to any visitor. Only keys that may read secrets may write it. Keys
 * limited to some objects may write it only if these secrets are among them.
 */
function checkSecrets({ kind, before, after }: Change, { operation, scope, draft }: JudgedWrite): void {
  if (!after) return;
  for (const { vault, name } of findNewSecrets(resourceNamed(kind).fields, after.doc, before?.doc)) {
    const why = "the traffic policy reads secrets, and can send them to any visitor";
    if (!scope.secrets) throw refuseMissingScope(operation, "secrets", why);
    if (!scope.prefixes) continue;
    const anyKind = { ...scope, kinds: undefined };
    const holder = vault === undefined ? undefined : draft.holder(after.account_id, vaults.name, vault);
    const space = `secret in ${holder?.id ?? ""}`;
    const secret = name === undefined ? undefined : draft.holder(after.account_id, space, name);
    if ([holder, secret].every((one) => one !== undefined && isVisible(anyKind, one))) continue;
    throw refuseMissingScope(operation, "*", `${why}: the key may not read "${vault ?? "…"}", "${name ?? "…"}"`);
  }
}

/** The receiver of a hidden value can read it. Only keys that may read the value may send it to another place. */
function checkDestination(change: Change, { operation, draft, given }: JudgedWrite): void {
  const why = newDestination(change, { draft, given });
  if (why === undefined) return;
  throw refuseMissingScope(
    operation,
    "secrets",
    `${why}: set these values again in the same call, or use a key with "secrets"`,
  );
}

/** Events cover objects of the whole account. A limited key cannot subscribe to objects that it may not read. */
function judgeEvents({ kind, id, after }: Change, { operation, scope, draft }: JudgedWrite): void {
  if (!after) return;
  const subscriptions =
    kind === eventSubscription.name
      ? [after]
      : kind === "event_destination"
        ? draft.referrers(id).filter((referrer) => referrer.kind === eventSubscription.name)
        : [];
  for (const subscription of subscriptions) {
    const types = new Set(docOf(subscription, eventSubscription).sources.map(({ type }) => type));
    const why = "events cover all objects of the account";
    if (scope.prefixes) throw refuseMissingScope(operation, "metadata:", why);
    if (trafficTypesOf(types).length > 0) throw refuseMissingScope(operation, "type:*", why);
    const other = kindsOf(types).find((one) => scope.kinds && !scope.kinds.has(one));
    if (other !== undefined) throw refuseMissingScope(operation, `type:${other}`, "it covers objects of that kind");
  }
}
