/** Operations on documents of many objects: plan, apply and export. */
import { Refusal } from "../../lib/errors.ts";
import { renderYaml } from "../../lib/yaml.ts";
import type { Issue } from "../../schema/fields.ts";
import { schemaRef } from "../../schema/json-schema.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import { readHeader } from "../operation/call.ts";
import type { Call, Operation, Reply } from "../operation/call.ts";
import type { ObjectContext } from "../objects/object-context.ts";
import { objectChangeSchema, summarySchema } from "../history/change-set.ts";
import { checkPlan, planHashSchema, planQuery } from "../history/plan-hash.ts";
import { makeBlankIdentities, makeModuleIdentities } from "../objects/module-identities.ts";
import type { ModuleIdentities } from "../objects/module-identities.ts";
import { flagIn, readOnce } from "../objects/page-query.ts";
import { refuseMissingScope } from "../operation/missing-scope.ts";
import { seesSecrets } from "../operation/scope.ts";
import { makeShares } from "../operation/shares.ts";
import { inputRefusal } from "../operation/input-refusal.ts";
import { objectRefusals } from "../operation/operation-refusals.ts";
import type { Change, Draft } from "../../storage/store.ts";
import { writeOnce } from "../objects/write-once.ts";
import { judgeOf } from "../objects/write-context.ts";
import { carryOut, maxIssues, findPresent } from "./carry-out.ts";
import type { AppliedDocument } from "./carry-out.ts";
import { documentKinds, maxDocumentObjects, readDocument } from "./document.ts";
import type { Document } from "./document.ts";
import { exampleDocument, examplePlan } from "./document-examples.ts";
import { exportDocument } from "./export-document.ts";
import { documentHash, planOf } from "./document-plan.ts";
import type { Plan } from "./document-plan.ts";
import { surveyPolicies } from "./survey-policies.ts";

/** Maximum number of new module identities per document. Each needs a key pair. */
const maxModuleIdentities = 100;

/** Limits parallel plans and applications per key. */
const longDocuments = makeShares(4);

export const documentRefusals = [
  ...new Set([
    ...documentKinds.flatMap(objectRefusals),
    "in_use" as const,
    "work_limit" as const,
    "work_too_long" as const,
  ]),
];

export function declarativeOperations(context: ObjectContext): Operation[] {
  const shared = {
    method: "POST",
    takes: "document",
    status: 200,
    replySchema: "Plan",
    exampleBody: exampleDocument,
    refusals: documentRefusals,
  } as const;
  const schemas = {
    Plan: planSchema,
    PlannedChange: plannedChangeSchema,
    PlanWarning: planWarningSchema,
    Document: documentSchema,
  };
  return [
    {
      ...shared,
      id: "planDocument",
      path: "/plan",
      reads: true,
      summary: "Return the changes that applying a document would make, field by field, without making them.",
      schemas,
      exampleReply: examplePlan(false),
      run: (call) => longDocuments.take(call.principal.id, () => planDocument(call, context)),
    },
    {
      ...shared,
      id: "applyDocument",
      path: "/apply",
      summary: "Change the account's objects to match a document. All changes apply together as one revision, or none.",
      query: planQuery,
      stores: true,
      refusals: [...documentRefusals, "plan_stale"],
      exampleReply: examplePlan(true),
      run: (call) => longDocuments.take(call.principal.id, () => applyDocument(call, context)),
    },
    {
      id: "exportDocument",
      method: "GET",
      path: "/export",
      summary:
        "Write the account's objects to a document; as YAML for `Accept: application/yaml`. Applying this document changes nothing. Placeholders replace secrets and values that contain one. With `secrets`, the document includes the secrets that the key may read.",
      takes: "nothing",
      query: ["document", "secrets"],
      status: 200,
      replySchema: "Document",
      alsoProduces: "application/yaml",
      exampleReply: exampleDocument,
      refusals: ["document_too_large"],
      run: (call) => exportAll(call, context),
    },
  ];
}

async function planDocument(call: Call, context: ObjectContext): Promise<Reply> {
  const document = await readFromCall(call);
  const identities = await identitiesFor(document, call, context, true);
  const { revision } = context.store;
  const work = (draft: Draft): AppliedDocument => carryOut(document, call, context, draft, identities);
  const { objects, changes } = context.store.rehearse(work, judgeOf(call));
  return replyWithPlan(planOf(document, { objects, changes }, context, call, { revision, applied: false }));
}

/** Returns the changes that applying the document in the body would make. */
export async function documentChanges(call: Call, context: ObjectContext): Promise<readonly Change[]> {
  const document = await readFromCall(call);
  const identities = await identitiesFor(document, call, context, true);
  const work = (draft: Draft): AppliedDocument => carryOut(document, call, context, draft, identities);
  return context.store.rehearse(work, judgeOf(call)).changes;
}

async function applyDocument(call: Call, context: ObjectContext): Promise<Reply> {
  const document = await readFromCall(call);
  const identities = await identitiesFor(document, call, context, false);
  return writeOnce(
    call,
    context.store,
    (draft) => {
      const outcome = carryOut(document, call, context, draft, identities);
      const hash = documentHash(document, outcome, context, call);
      checkPlan(call, () => hash);
      return { outcome, hash };
    },
    ({ outcome, hash }, revision) =>
      replyWithPlan(planOf(document, outcome, context, call, { revision, applied: true, hash })),
  );
}

function replyWithPlan(made: Plan): Reply {
  return { status: 200, body: JSON.stringify(made), revision: made.revision };
}

function exportAll(call: Call, context: ObjectContext): Reply {
  const name = readOnce(call, "document");
  if (name === "")
    throw new Refusal("query_invalid", `${call.operation.id}: "document" must be the name of a document`);
  const writesSecrets = flagIn(call, "secrets");
  if (writesSecrets && !seesSecrets(call.principal.scope)) throw refuseMissingScope(call.operation, "secrets");
  const document = exportDocument(context, call.principal, { document: name, writesSecrets });
  const { revision } = context.store;
  if (!/\byaml\b/i.test(readHeader(call.request, "accept") ?? "")) {
    return { status: 200, body: JSON.stringify(document), revision };
  }
  return { status: 200, body: renderYaml(document), contentType: "application/yaml", revision };
}

async function readFromCall(call: Call): Promise<Document> {
  const issues: Issue[] = [];
  const document = readDocument(call.body, issues);
  if (issues.length > 0) throw inputRefusal(call.operation.id, issues.slice(0, maxIssues));
  await surveyPolicies(document, call.operation.id);
  return document;
}

/**
 * Returns identities by key of the entry. They are created before the write because that is slow. A plan has blank
 * identities.
 */
async function identitiesFor(
  document: Document,
  call: Call,
  context: ObjectContext,
  forPlan: boolean,
): Promise<ReadonlyMap<string, ModuleIdentities>> {
  const made = new Map<string, ModuleIdentities>();
  for (const entry of document.entries.values()) {
    const present = findPresent(entry, call.principal.accountId, context.store, []);
    const blank = makeBlankIdentities(entry.resource, entry.fields, present?.doc);
    const [name] = blank.keys();
    if (name === undefined) continue;
    if (made.size === maxModuleIdentities) {
      const message = `must not be one of more than ${maxModuleIdentities} new ones in a document`;
      throw inputRefusal(call.operation.id, [{ path: `${entry.path}.${name}`, message }]);
    }
    const identities = forPlan
      ? blank
      : await makeModuleIdentities(entry.resource, entry.fields, present?.doc, context.clock.now());
    made.set(entry.key, identities);
  }
  return made;
}

const plannedChangeSchema: JsonSchema = {
  ...objectChangeSchema,
  description: "A document's changes to one object.",
  properties: {
    ...(objectChangeSchema["properties"] as object),
    id: { type: "string", description: "Empty if the object does not exist yet." },
    name: {
      type: ["string", "null"],
      description: "The object's name in the document; null for objects that follow from others.",
    },
    adopted: { type: "boolean", description: "Whether the document takes over an object that it did not create." },
  },
  required: ["action", "kind", "name", "id", "uri", "adopted", "fields"],
};

const planWarningSchema: JsonSchema = {
  type: "object",
  description: "Likely mistakes in accepted values.",
  properties: {
    kind: { type: "string", description: "Kind of the object." },
    name: {
      type: ["string", "null"],
      description: "The object's name in the document; null for objects that follow from others.",
    },
    path: { type: "string", description: "The field." },
    message: { type: "string", description: "The likely mistake." },
  },
  required: ["kind", "name", "path", "message"],
  additionalProperties: false,
};

const planSchema: JsonSchema = {
  type: "object",
  description: "Changes that a document makes.",
  properties: {
    document: { type: "string", description: "Name of the document." },
    applied: { type: "boolean", description: "Whether the changes were made." },
    revision: { type: "integer", description: "The revision that was written, or the base of the plan." },
    hash: planHashSchema,
    summary: summarySchema,
    changes: { type: "array", items: { $ref: schemaRef("PlannedChange") } },
    warnings: { type: "array", items: { $ref: schemaRef("PlanWarning") } },
  },
  required: ["document", "applied", "revision", "hash", "summary", "changes", "warnings"],
  additionalProperties: false,
};

export const documentSchema: JsonSchema = {
  type: "object",
  description:
    'Objects by kind and name, with the fields for their creation. A field that refers to another object has its name or an id. Missing fields have their defaults. `{"$unchanged": true}` keeps a stored secret.',
  properties: {
    document: {
      type: "string",
      description: "Name of the document. Names of objects are unique in it.",
      "x-default": "main",
    },
    prune: {
      type: "boolean",
      description: "Delete objects that an earlier version of the document created and that are no longer in it.",
      "x-default": false,
    },
    objects: {
      type: "object",
      description: `At most ${maxDocumentObjects} in all.`,
      properties: Object.fromEntries(
        documentKinds.map(({ name, doc }) => [
          name,
          {
            type: ["object", "null"],
            description: doc,
            additionalProperties: {
              type: ["object", "null"],
              description: "Fields. An `id` makes the document take over an existing object.",
            },
          },
        ]),
      ),
      additionalProperties: false,
    },
  },
  required: ["objects"],
  additionalProperties: false,
};
