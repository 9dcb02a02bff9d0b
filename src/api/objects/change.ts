/** Changes one object, for all operations that do so. */
import type { JsonObject } from "../../lib/json.ts";
import { parseFields } from "../../schema/parse.ts";
import type { ResourceDeclaration } from "../../schema/resource.ts";
import type { Draft, StoredObject, Written } from "../../storage/store.ts";
import type { Call } from "../operation/call.ts";
import { inputRefusal } from "../operation/input-refusal.ts";
import { ownerOf, viewsFor } from "./context.ts";
import type { ObjectContext } from "./context.ts";
import { givenValues } from "./given-values.ts";
import { pathNames, theOne } from "./lookup.ts";
import { blankModuleIdentities, identified, makeModuleIdentities, noModuleIdentities } from "./module-identities.ts";
import type { ModuleIdentities } from "./module-identities.ts";
import { checkIfMatch } from "./preconditions.ts";
import { prepare } from "./prepare.ts";
import { warningHeaders } from "./warnings.ts";
import { isDryRun, rehearse } from "./dry-run.ts";
import { writeContext } from "./write-context.ts";

/** Changes the object in the path by `body`, in its own write. */
export async function writeChange(
  resource: ResourceDeclaration,
  call: Call,
  context: ObjectContext,
  body: JsonObject,
  check?: (previous: StoredObject) => void,
): Promise<Changed> {
  const present = theOne(resource, call, context.store);
  check?.(present);
  const work = (draft: Draft, identities: ModuleIdentities): StoredObject => {
    check?.(theOne(resource, call, draft));
    return changeIn(draft, resource, call, context, () => body, identities);
  };
  const { store } = context;
  const told = ({ doc }: StoredObject): readonly string[] => warningHeaders(resource, doc, present.doc).headers ?? [];
  // Creating an identity is slow, so invalid requests are rejected with blank identities first.
  const blank = blankModuleIdentities(resource, body, present.doc);
  if (blank.size > 0) rehearse(store, call, (draft) => work(draft, blank), idOf);
  const identities = await makeModuleIdentities(resource, body, present.doc, context.clock.now());
  if (isDryRun(call)) {
    const { result, also } = rehearse(store, call, (draft) => work(draft, identities), idOf);
    return { result, revision: store.revision, headers: [...told(result), ...also] };
  }
  const written = await store.write(writeContext(call), (draft) => work(draft, identities));
  return { ...written, headers: told(written.result) };
}

function idOf({ id }: StoredObject): string {
  return id;
}

interface Changed extends Written<StoredObject> {
  /** Header fields with warnings about the input and with other changes. */
  readonly headers: readonly string[];
}

/** Changes the object in the path within the write of `draft`. `bodyFor` returns the change from the object's state. */
export function changeIn(
  draft: Draft,
  resource: ResourceDeclaration,
  call: Call,
  context: ObjectContext,
  bodyFor: (previous: StoredObject) => JsonObject,
  identities: ModuleIdentities = noModuleIdentities,
): StoredObject {
  const previous = theOne(resource, call, draft);
  checkIfMatch(call, viewsFor(call, context).etag(previous));
  return change(resource, call, context, draft, previous, bodyFor(previous), identities);
}

/** Parses `body` as a change of `previous` and stores the result, unless it is unchanged. */
function change(
  resource: ResourceDeclaration,
  call: Call,
  context: ObjectContext,
  draft: Draft,
  previous: StoredObject,
  body: JsonObject,
  identities: ModuleIdentities,
): StoredObject {
  const given = Object.fromEntries(Object.entries(body).filter(([name]) => !pathNames.has(name)));
  const { issues, doc } = parseFields(resource.fields, given, "update", previous.doc);
  if (issues.length > 0) throw inputRefusal(call.operation.id, issues);
  call.given?.set(previous.id, givenValues(resource.fields, given));
  const behaviour = context.behaviours[resource.name];
  const prepared = prepare(resource, call, draft, previous.account_id, doc, previous, behaviour);
  const owner = ownerOf(previous.id, context);
  const whole = identified(resource, prepared.doc, previous.doc, identities, owner);
  if (JSON.stringify(whole) === JSON.stringify(previous.doc)) return previous;
  return draft.replace(previous, whole);
}
