import { warningHeaders } from "../objects/warnings.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { Doc } from "../../schema/doc.ts";
import { parseFields } from "../../schema/parse-fields.ts";
import type { ResourceDeclaration } from "../../schema/resource.ts";
import type { Draft, StoredObject } from "../../storage/store.ts";
import { ownerOf, viewsFor } from "../objects/object-context.ts";
import type { ObjectContext } from "../objects/object-context.ts";
import { dryRunQuery, isDryRun, rehearseWork } from "../objects/dry-run.ts";
import { listGivenValues } from "../objects/given-values.ts";
import { accountOf, findObject, pathNames } from "../objects/lookup.ts";
import { addIdentities, makeModuleIdentities } from "../objects/module-identities.ts";
import { prepareObject } from "../objects/prepare-object.ts";
import { writeOnce } from "../objects/write-once.ts";
import type { Call, Operation, Reply } from "../operation/call.ts";
import { pathParameters } from "../operation/resource-declarations.ts";
import { inputRefusal } from "../operation/input-refusal.ts";
import { withArticle } from "./collection.ts";
import type { Collection } from "./collection.ts";

export function createOperation({ resource, path, suffix }: Collection, context: ObjectContext): Operation {
  return {
    id: `create${resource.schemaName}${suffix}`,
    method: "POST",
    path,
    summary: `Create ${withArticle(resource)}. With \`dry_run\`, return the effect without making changes.`,
    resource,
    verb: "create",
    takes: "object",
    query: dryRunQuery,
    input: resource.fields,
    status: 201,
    replySchema: resource.schemaName,
    run: (call) => createObject(resource, call, context),
  };
}

interface Created {
  readonly object: StoredObject;
  readonly shown: Doc;
}

async function createObject(resource: ResourceDeclaration, call: Call, context: ObjectContext): Promise<Reply> {
  const accountId = accountOf(resource, call);
  const body = withPath(resource, call);
  const owner = resource.ownedBy;
  if (owner && resource.path.includes("{")) findObject(context.store, accountId, owner.kind, String(body[owner.field]));
  const { issues, doc } = parseFields(resource.fields, body, "create", undefined, pathNames);
  if (issues.length > 0) throw inputRefusal(call.operation.id, issues);
  const behaviour = context.behaviours[resource.name];
  const identities = await makeModuleIdentities(resource, body, undefined, context.clock.now());
  const work = (draft: Draft): Created => {
    const prepared = prepareObject(resource, call, draft, accountId, doc, undefined, behaviour);
    const bare = draft.create(accountId, resource.name, prepared.doc);
    call.given?.set(bare.id, listGivenValues(resource.fields, body));
    const whole = addIdentities(resource, bare.doc, undefined, identities, ownerOf(bare.id, context));
    const object = whole === bare.doc ? bare : draft.replace(bare, whole);
    const more = behaviour?.created?.(draft, object);
    return { object, shown: { ...prepared.shown, ...more?.shown } };
  };
  const views = viewsFor(call, context);
  const reply = ({ object, shown }: Created, revision: number): Reply => {
    const body = JSON.stringify(views.render(object, call.baseUrl, shown));
    const { headers = [] } = warningHeaders(resource, object.doc, undefined);
    return { status: 201, body, etag: views.etag(object), revision, headers };
  };
  if (isDryRun(call)) {
    const { result, also } = rehearseWork(context.store, call, work, ({ object }) => object.id);
    // A dry run creates no token, so none is shown.
    const answer = reply({ object: result.object, shown: {} }, context.store.revision);
    return { ...answer, headers: [...(answer.headers ?? []), ...also] };
  }
  return writeOnce(call, context.store, work, reply);
}

/** Returns the body with the values of the path, which take precedence. */
function withPath(resource: ResourceDeclaration, call: Call): JsonObject {
  const names = pathParameters(resource);
  if (names.length === 0) return call.body;
  return { ...call.body, ...Object.fromEntries(names.map((name, index) => [name, call.parameters[index]])) };
}
