/** Changes one object, for all operations that do so. */
import type { JsonObject } from "../../lib/json.ts";
import { parseFields } from "../../schema/parse-fields.ts";
import type { ResourceDeclaration } from "../../schema/resource.ts";
import type { Draft, StoredObject, Written } from "../../storage/store.ts";
import type { Call } from "../operation/call.ts";
import { inputRefusal } from "../operation/input-refusal.ts";
import { ownerOf, viewsFor } from "./object-context.ts";
import type { ObjectContext } from "./object-context.ts";
import { listGivenValues } from "./given-values.ts";
import { pathNames, requireObject } from "./lookup.ts";
import { makeBlankIdentities, addIdentities, makeModuleIdentities, noModuleIdentities } from "./module-identities.ts";
import type { ModuleIdentities } from "./module-identities.ts";
import { checkIfMatch } from "./preconditions.ts";
import { prepareObject } from "./prepare-object.ts";
import { warningHeaders } from "./warnings.ts";
import { isDryRun, rehearseWork } from "./dry-run.ts";
import { writeContext } from "./write-context.ts";

/** Changes the object in the path by `body`, in its own write. */
export async function writeChange(
  resource: ResourceDeclaration,
  call: Call,
  context: ObjectContext,
  body: JsonObject,
  check?: (previous: StoredObject) => void,
): Promise<ChangedObject> {
  const present = requireObject(resource, call, context.store);
  check?.(present);
  const work = (draft: Draft, identities: ModuleIdentities): StoredObject => {
    check?.(requireObject(resource, call, draft));
    return changeIn(draft, resource, call, context, () => body, identities);
  };
  const { store } = context;
  const told = ({ doc }: StoredObject): readonly string[] => warningHeaders(resource, doc, present.doc).headers ?? [];
  // Creating an identity is slow, so invalid requests are rejected with blank identities first.
  const blank = makeBlankIdentities(resource, body, present.doc);
  if (blank.size > 0) rehearseWork(store, call, (draft) => work(draft, blank), idOf);
  const identities = await makeModuleIdentities(resource, body, present.doc, context.clock.now());
  if (isDryRun(call)) {
    const { result, also } = rehearseWork(store, call, (draft) => work(draft, identities), idOf);
    return { result, revision: store.revision, headers: [...told(result), ...also] };
  }
  const written = await store.write(writeContext(call), (draft) => work(draft, identities));
  return { ...written, headers: told(written.result) };
}

function idOf({ id }: StoredObject): string {
  return id;
}

interface ChangedObject extends Written<StoredObject> {
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
  const previous = requireObject(resource, call, draft);
  checkIfMatch(call, viewsFor(call, context).etag(previous));
  return changeObject(resource, call, context, draft, previous, bodyFor(previous), identities);
}

/** Parses `body` as a change of `previous` and stores the result, unless it is unchanged. */
function changeObject(
  resource: ResourceDeclaration,
  call: Call,
  context: ObjectContext,
  draft: Draft,
  previous: StoredObject,
  body: JsonObject,
  identities: ModuleIdentities,
): StoredObject {
  const input = Object.fromEntries(Object.entries(body).filter(([name]) => !pathNames.has(name)));
  const { issues, doc } = parseFields(resource.fields, input, "update", previous.doc);
  if (issues.length > 0) throw inputRefusal(call.operation.id, issues);
  call.given?.set(previous.id, listGivenValues(resource.fields, input));
  const behaviour = context.behaviours[resource.name];
  const prepared = prepareObject(resource, call, draft, previous.account_id, doc, previous, behaviour);
  const owner = ownerOf(previous.id, context);
  const whole = addIdentities(resource, prepared.doc, previous.doc, identities, owner);
  if (JSON.stringify(whole) === JSON.stringify(previous.doc)) return previous;
  return draft.replace(previous, whole);
}
