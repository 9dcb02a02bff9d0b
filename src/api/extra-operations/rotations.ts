/** Operations that replace an API key or agent token: the new one works immediately, the old one for another day. */
import { formatTimestamp } from "../../lib/clock.ts";
import { apiKey } from "../../resources/api-key.ts";
import { credential } from "../../resources/credential.ts";
import { docOf } from "../../schema/doc.ts";
import type { ResourceDeclaration } from "../../schema/resource.ts";
import type { Draft, StoredObject } from "../../storage/store.ts";
import { viewsFor } from "../objects/object-context.ts";
import type { ObjectContext } from "../objects/object-context.ts";
import { requireObject } from "../objects/lookup.ts";
import { prepareObject } from "../objects/prepare-object.ts";
import { checkIfMatch } from "../objects/preconditions.ts";
import { writeOnce } from "../objects/write-once.ts";
import type { Call, Operation, Reply } from "../operation/call.ts";
import { resourceNamed } from "../operation/resource-declarations.ts";
import { refuseMissingScope } from "../operation/missing-scope.ts";
import { isWithin, readScopes } from "../operation/scope.ts";
import type { Doc } from "../../schema/doc.ts";

/** How long the old token still works, so that its users can change over, milliseconds. */
const overlapMs = 24 * 60 * 60_000;

export function rotationOperations(context: ObjectContext): Operation[] {
  return [
    makeRotation(resourceNamed(apiKey.name), "rotateAPIKey", "an API key", context),
    makeRotation(resourceNamed(credential.name), "rotateCredential", "an agent token", context),
  ];
}

function makeRotation(resource: ResourceDeclaration, id: string, what: string, context: ObjectContext): Operation {
  return {
    id,
    method: "POST",
    path: `${resource.path}/{id}/rotate`,
    summary: `Replace ${what}: create one with the same rights, and let both work for a day. Then the old one expires.`,
    resource,
    takes: "anything",
    stores: true,
    status: 201,
    replySchema: resource.schemaName,
    refusals: [
      ...(resource.refusals ?? []),
      "precondition_failed",
      "too_many_objects",
      "account_full",
      "invalid_field",
    ],
    run: (call) => rotateSecret(resource, call, context),
  };
}

function rotateSecret(resource: ResourceDeclaration, call: Call, context: ObjectContext): Promise<Reply> {
  const { store, clock, behaviours } = context;
  const views = viewsFor(call, context);
  requireObject(resource, call, store);
  const work = (draft: Draft): { readonly made: StoredObject; readonly shown: Doc } => {
    const old = requireObject(resource, call, draft);
    checkIfMatch(call, views.etag(old));
    checkWithin(call, old);
    const endsAt = formatTimestamp(clock.now() + overlapMs);
    const present = old.doc["expires_at"];
    const isSooner = typeof present === "string" && Date.parse(present) < Date.parse(endsAt);
    const { doc, shown = {} } = prepareObject(
      resource,
      call,
      draft,
      old.account_id,
      old.doc,
      undefined,
      behaviours[resource.name],
    );
    if (!isSooner) draft.replace(old, { ...old.doc, expires_at: endsAt });
    return { made: draft.create(old.account_id, resource.name, doc), shown };
  };
  return writeOnce(call, store, work, ({ made, shown }, revision) => ({
    status: 201,
    body: JSON.stringify(views.render(made, call.baseUrl, shown)),
    revision,
  }));
}

/** A limited key cannot get a token of a key with more rights. */
function checkWithin({ operation, principal: { scope } }: Call, old: StoredObject): void {
  if (old.kind !== apiKey.name || isWithin(readScopes(docOf(old, apiKey).scopes), scope)) return;
  throw refuseMissingScope(operation, "*", "a limited key can rotate only keys with at most its own scopes");
}
