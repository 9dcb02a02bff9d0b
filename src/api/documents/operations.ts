/** One document of many objects: what would it change, change it, and write one down. */
import { Refusal } from "../../lib/errors.ts";
import { renderYaml } from "../../lib/yaml.ts";
import type { Issue } from "../../schema/fields.ts";
import { schemaRef } from "../../schema/json-schema.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import { header } from "../operation/call.ts";
import type { Call, Operation, Reply } from "../operation/call.ts";
import type { Crud } from "../objects/crud.ts";
import { objectChangeSchema, summarySchema } from "../history/change-set.ts";
import { makeIdentities, missingIdentities } from "../objects/identities.ts";
import type { Identities } from "../objects/identities.ts";
import { once } from "../objects/pages.ts";
import { inputRefusal } from "../operation/problems.ts";
import { objectRefusals } from "../operation/refusals.ts";
import type { Draft } from "../../storage/store.ts";
import { writeOnce } from "../objects/write-once.ts";
import { judgeOf } from "../scopes/judge.ts";
import { carryOut, maxIssues, presentOf } from "./apply.ts";
import type { Outcome } from "./apply.ts";
import { documentKinds, maxDocumentObjects, readDocument } from "./document.ts";
import type { Document } from "./document.ts";
import { exampleDocument, examplePlan } from "./examples.ts";
import { exportDocument } from "./export.ts";
import { planOf } from "./plan.ts";
import type { Plan } from "./plan.ts";

/** Modules with an identity that one document may set anew: each costs a key pair. */
const maxIdentities = 100;

export function declarativeOperations(crud: Crud): Operation[] {
  const refusals = [...new Set([...documentKinds.flatMap(objectRefusals), "in_use" as const])];
  const shared = {
    method: "POST",
    takes: "document",
    status: 200,
    answers: "Plan",
    exampleBody: exampleDocument,
    refusals,
  } as const;
  const schemas = { Plan: planSchema, PlannedChange: plannedChangeSchema, Document: documentSchema };
  return [
    {
      ...shared,
      id: "planDocument",
      path: "/plan",
      reads: true,
      summary: "Say what applying a document of many objects would change, field by field, and change nothing.",
      schemas,
      exampleAnswer: examplePlan(false),
      run: (call) => plan(call, crud),
    },
    {
      ...shared,
      id: "applyDocument",
      path: "/apply",
      summary: "Make the account's objects what a document says, all or nothing, as one revision.",
      stores: true,
      exampleAnswer: examplePlan(true),
      run: (call) => apply(call, crud),
    },
    {
      id: "exportDocument",
      method: "GET",
      path: "/export",
      summary:
        "Write the account's objects down as a document whose application changes nothing; as YAML for `Accept: application/yaml`.",
      takes: "nothing",
      query: ["document"],
      status: 200,
      answers: "Document",
      alsoProduces: "application/yaml",
      exampleAnswer: exampleDocument,
      refusals: ["document_too_large"],
      run: (call) => exportAll(call, crud),
    },
  ];
}

async function plan(call: Call, crud: Crud): Promise<Reply> {
  const document = read(call);
  const identities = await identitiesFor(document, call, crud, true);
  const { revision } = crud.store;
  const work = (draft: Draft): Outcome => carryOut(document, call, crud, draft, identities);
  const { objects, changes } = crud.store.rehearse(work, judgeOf(call));
  return answer(planOf(document, { objects, changes }, crud, call, { revision, applied: false }));
}

async function apply(call: Call, crud: Crud): Promise<Reply> {
  const document = read(call);
  const identities = await identitiesFor(document, call, crud, false);
  return writeOnce(
    call,
    crud.store,
    (draft) => carryOut(document, call, crud, draft, identities),
    (outcome, revision) => answer(planOf(document, outcome, crud, call, { revision, applied: true })),
  );
}

function answer(made: Plan): Reply {
  return { status: 200, body: JSON.stringify(made), revision: made.revision };
}

function exportAll(call: Call, crud: Crud): Reply {
  const name = once(call, "document");
  if (name === "") throw new Refusal("query_invalid", `${call.operation.id}: "document" must be the name of one`);
  const document = exportDocument(crud, call.principal, name);
  const { revision } = crud.store;
  if (!/\byaml\b/i.test(header(call.request, "accept") ?? "")) {
    return { status: 200, body: JSON.stringify(document), revision };
  }
  return { status: 200, body: renderYaml(document), contentType: "application/yaml", revision };
}

function read(call: Call): Document {
  const issues: Issue[] = [];
  const document = readDocument(call.body, issues);
  if (issues.length > 0) throw inputRefusal(call.operation.id, issues.slice(0, maxIssues));
  return document;
}

/** By key of the entry; made before the write, as they take time. A plan has empty ones. */
async function identitiesFor(
  document: Document,
  call: Call,
  crud: Crud,
  forPlan: boolean,
): Promise<ReadonlyMap<string, Identities>> {
  const made = new Map<string, Identities>();
  for (const entry of document.entries.values()) {
    const present = presentOf(entry, call.principal.accountId, crud.store, []);
    const missing = missingIdentities(entry.resource, entry.fields, present?.doc);
    if (missing.length === 0) continue;
    if (made.size === maxIdentities) {
      const message = `must not be one of more than ${maxIdentities} new ones in a document`;
      throw inputRefusal(call.operation.id, [{ path: `${entry.path}.${missing[0]}`, message }]);
    }
    const identities = forPlan
      ? new Map(missing.map((name) => [name, () => ({})]))
      : await makeIdentities(entry.resource, entry.fields, present?.doc, crud.clock.now());
    made.set(entry.key, identities);
  }
  return made;
}

const plannedChangeSchema: JsonSchema = {
  ...objectChangeSchema,
  description: "What a document changes of one object.",
  properties: {
    ...(objectChangeSchema["properties"] as object),
    id: { type: "string", description: "Empty when the object is only going to be created." },
    name: { type: ["string", "null"], description: "Its name in the document; null for what follows from others." },
    adopted: { type: "boolean", description: "Whether the document makes an object its own that it has not made." },
  },
  required: ["action", "kind", "name", "id", "uri", "adopted", "fields"],
};

const planSchema: JsonSchema = {
  type: "object",
  description: "What a document changes.",
  properties: {
    document: { type: "string", description: "Name of the document." },
    applied: { type: "boolean", description: "Whether it has been done." },
    revision: { type: "integer", description: "The revision that was written, or that the plan is based on." },
    summary: summarySchema,
    changes: { type: "array", items: { $ref: schemaRef("PlannedChange") } },
  },
  required: ["document", "applied", "revision", "summary", "changes"],
  additionalProperties: false,
};

const documentSchema: JsonSchema = {
  type: "object",
  description:
    'Objects by kind and name, with the fields that creating one takes. A field that refers to another object has its name, or an id. What is left out has its default. A secret may be `{"$unchanged": true}`: it stays what it is.',
  properties: {
    document: { type: "string", description: "Name of the document, in which names are unique.", default: "main" },
    prune: {
      type: "boolean",
      description: "Delete what this document has made before and does not have any more.",
      default: false,
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
              description: "Fields; `id` makes an object that exists already the document's.",
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
