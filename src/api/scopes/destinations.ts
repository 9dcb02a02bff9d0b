/**
 * Checks where traffic sends values that a key without `secrets` cannot see. Such a key must not redirect them to
 * another place, where it could read them, unless it sets the values again in the same write.
 */
import { isDeepStrictEqual } from "node:util";
import { compileAcl } from "../../lib/agent-acl.ts";
import { isInternalName } from "../../lib/internal-names.ts";
import { cloudEndpoint } from "../../resources/cloud-endpoint.ts";
import { documentKeyField } from "../../resources/document-key.ts";
import { httpResponseBackend } from "../../resources/http-response-backend.ts";
import { httpsEdgeRoute } from "../../resources/https-edge-route.ts";
import { secret } from "../../resources/secret.ts";
import { tunnelGroupBackend } from "../../resources/tunnel-group-backend.ts";
import { vault } from "../../resources/vault.ts";
import { backendKinds } from "../../schema/backend-kinds.ts";
import { docOf } from "../../schema/doc.ts";
import type { Doc } from "../../schema/doc.ts";
import { findReferences } from "../../schema/references.ts";
import type { Change, Draft, StoredObject } from "../../storage/store.ts";
import { resourceNamed } from "../operation/resource-declarations.ts";
import { aclOf, grantsAgentAccess } from "./agent-tokens.ts";
import { hasNewOutlet, isForwarding, sendingKinds, listSentValues } from "./sent-values.ts";

/** Paths of the values that a call itself sets, by object id. */
export type GivenValues = ReadonlyMap<string, ReadonlySet<string>>;

interface At {
  readonly draft: Draft;
  readonly given: GivenValues;
}

/** Returns why the change sends hidden values to another place, as a clause. Undefined if it does not. */
export function newDestination(change: Change, at: At): string | undefined {
  const { kind, before, after } = change;
  if (!after) return undefined;
  return (
    ofRoute(change, at) ??
    ofBackend(change, at) ??
    (grantsAgentAccess(kind) && !isDeepStrictEqual(before?.doc["acl"], after.doc["acl"])
      ? ofToken(after, at)
      : undefined) ??
    ofInternalEndpoint(change, at) ??
    ofVault(change, at)
  );
}

function ofRoute({ kind, id, before, after }: Change, at: At): string | undefined {
  if (kind !== httpsEdgeRoute.name || !after) return undefined;
  const kept = listKeptValues(after, at);
  if (kept.length === 0) return undefined;
  const earlier = before && listSentValues(before);
  const isSame =
    before !== undefined && kept.every(([path, value]) => earlier?.get(path) === value) && !hasNewOutlet(before, after);
  return isSame ? undefined : `hidden values of route "${id}" would be sent to another place`;
}

/** Returns values that the object sends and that the call does not set. */
function listKeptValues(object: StoredObject, { given }: At): (readonly [path: string, value: string])[] {
  const own = given.get(object.id);
  return [...listSentValues(object)].filter(([path]) => !own?.has(path));
}

function ofBackend(change: Change, at: At): string | undefined {
  const { kind, id, before, after } = change;
  if (!after) return undefined;
  const { fields } = resourceNamed(kind);
  const present = new Set(before && findReferences(fields, before.doc).map((one) => one.id));
  const added = findReferences(fields, after.doc).filter((one) => !present.has(one.id));
  const answers = added.flatMap((one) => answersBehind(one.id, after.account_id, at));
  if (answers.some((backend) => isKept(backend, at))) {
    return `"${kind}" "${id}" would answer with hidden values`;
  }
  if (!before || !isBackend(kind) || isDeepStrictEqual(targetOf(before.doc), targetOf(after.doc))) return undefined;
  const isSent = routesTo(id, at).some((route) => listKeptValues(route, at).length > 0);
  return isSent ? `routes send hidden values to backend "${id}"` : undefined;
}

function isBackend(kind: string): boolean {
  return backendKinds.some((one) => one === kind);
}

/** Returns a backend without its annotations. */
function targetOf(doc: Doc): Doc {
  return { ...doc, description: null, metadata: null, [documentKeyField]: null };
}

/** Returns the backends with fixed responses, among `id` and its members. */
function answersBehind(id: string, accountId: string, at: At): StoredObject[] {
  const found = backendKinds.map((kind) => at.draft.get(accountId, kind, id)).find((one) => one !== undefined);
  if (!found) return [];
  if (found.kind === httpResponseBackend.name) return [found];
  const inner = findReferences(resourceNamed(found.kind).fields, found.doc);
  return inner.flatMap((one) => answersBehind(one.id, accountId, at));
}

function isKept(backend: StoredObject, { given }: At): boolean {
  const { body, headers } = docOf(backend, httpResponseBackend);
  const own = given.get(backend.id);
  const paths = [...(body === "" ? [] : ["body"]), ...Object.keys(headers).map((name) => `headers.${name}`)];
  return paths.some((path) => !own?.has(path));
}

/** Returns routes that use the backend, directly or through others. Backends are nested one level deep. */
function routesTo(id: string, at: At): StoredObject[] {
  return at.draft.referrers(id).flatMap((one) => {
    if (one.kind === httpsEdgeRoute.name) return [one];
    return isBackend(one.kind) ? routesTo(one.id, at) : [];
  });
}

/** The holder of an agent token can serve the labels and internal names that it allows. */
function ofToken(token: StoredObject, at: At): string | undefined {
  const { draft } = at;
  const rules = aclOf(token);
  const acl = compileAcl(rules);
  const backends = draft.page(token.account_id, tunnelGroupBackend.name, { limit: Infinity }).objects;
  for (const backend of backends) {
    const labels = Object.entries(docOf(backend, tunnelGroupBackend).labels);
    if (!labels.every(([name, value]) => acl.allowsLabel(name, value))) continue;
    if (routesTo(backend.id, at).some((route) => listKeptValues(route, at).length > 0)) {
      return `its "acl" allows the labels of backend "${backend.id}", to which routes send hidden values`;
    }
  }
  const bindsNames = rules.length === 0 || rules.some((rule) => !rule.includes("="));
  if (!bindsNames || !forwardsHidden(token.account_id, at)) return undefined;
  return 'its "acl" allows names, and policies send hidden values to internal endpoints';
}

/** Requests with values that policies added arrive here, and the endpoint's own policy can reveal them. */
function ofInternalEndpoint({ kind, id, before, after }: Change, at: At): string | undefined {
  if (kind !== cloudEndpoint.name || !after) return undefined;
  const { url, traffic_policy } = docOf(after, cloudEndpoint);
  if (!isInternalName(URL.parse(url)?.hostname ?? "")) return undefined;
  const present = before && docOf(before, cloudEndpoint);
  if (present?.url === url && present.traffic_policy === traffic_policy) return undefined;
  if (!forwardsHidden(after.account_id, at)) return undefined;
  return `policies send hidden values to internal endpoints, including "${id}"`;
}

/** Whether any object of the account adds hidden values to requests and sends them to internal endpoints. */
function forwardsHidden(accountId: string, at: At): boolean {
  return sendingKinds.some((kind) =>
    at.draft
      .page(accountId, kind, { limit: Infinity })
      .objects.some((one) => isForwarding(one) && listKeptValues(one, at).length > 0),
  );
}

/** A policy reads a secret by its names. After a rename, another policy could read it. */
function ofVault({ kind, id, before, after }: Change, { draft, given }: At): string | undefined {
  if (!before || !after || before.doc["name"] === after.doc["name"]) return undefined;
  const isHeld =
    (kind === secret.name && !given.get(id)?.has("value")) ||
    (kind === vault.name && draft.children(secret.name, id).length > 0);
  return isHeld ? "policies that read the new name would get a hidden secret" : undefined;
}
