/** The history of writes: who made which changes, and why. */
import { Refusal } from "../../lib/errors.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import { schemaRef } from "../../schema/json-schema.ts";
import { checkRetained } from "../../storage/history/retention.ts";
import type { Revision } from "../../storage/store.ts";
import type { Call, Operation, Reply } from "../operation/call.ts";
import type { ObjectContext } from "../objects/object-context.ts";
import { resourceOfId, resources } from "../operation/resource-declarations.ts";
import { dryRunQuery } from "../objects/dry-run.ts";
import { readOnce, pageBody, readLimit } from "../objects/page-query.ts";
import { ruleRefusals } from "../operation/operation-refusals.ts";
import { exampleBaseUrl } from "../objects/example-replies.ts";
import { exampleRevision, exampleRollback } from "./history-examples.ts";
import { objectChange, objectChangeSchema, summarySchema } from "./change-set.ts";
import { planHashSchema, planQuery } from "./plan-hash.ts";
import { rollBack } from "./rollback.ts";
import { watchCommits } from "./recent-commits.ts";

const path = "/revisions";
/** Maximum number of changes per revision in a list. The revision itself shows all changes. */
const maxListed = 20;

const filters = ["principal", "operation", "kind", "object_id"] as const;

export function revisionOperations(context: ObjectContext): Operation[] {
  const recent = watchCommits(context.store);
  const shared = { takes: "nothing", status: 200 } as const;
  return [
    {
      ...shared,
      id: "listRevisions",
      method: "GET",
      path,
      query: ["limit", "before_id", ...filters],
      summary: `List writes in the account, newest first: author, operation, reason, and up to ${maxListed} changes of each.`,
      replySchema: "RevisionList",
      exampleReply: { revisions: [exampleRevision], uri: exampleBaseUrl + path, next_page_uri: null },
      schemas: { RevisionList: listSchema, Revision: revisionSchema, ObjectChange: objectChangeSchema },
      run: (call) => listRevisions(call, context),
    },
    {
      ...shared,
      id: "getRevision",
      method: "GET",
      path: `${path}/{id}`,
      summary: "Get a write with all its changes.",
      replySchema: "Revision",
      exampleReply: exampleRevision,
      refusals: ["revision_unknown", "revision_pruned"],
      run: (call) => getRevision(call, context),
    },
    {
      ...shared,
      id: "rollbackToRevision",
      method: "POST",
      path: `${path}/{id}/rollback`,
      summary:
        "Restore the account's objects to their state at a revision, as one new revision. API keys and agent tokens stay unchanged.",
      takes: "anything",
      query: [...dryRunQuery, ...planQuery],
      stores: true,
      replySchema: "Rollback",
      exampleReply: exampleRollback,
      schemas: { Rollback: rollbackSchema },
      refusals: [
        "revision_unknown",
        "revision_pruned",
        "rollback_too_large",
        "plan_stale",
        "in_use",
        ...resources.flatMap(ruleRefusals),
      ],
      run: (call) => rollBack(readNumber(call, context), call, context, recent),
    },
  ];
}

async function listRevisions(call: Call, context: ObjectContext): Promise<Reply> {
  const { accountId } = call.principal;
  const limit = readLimit(call);
  const before = readOnce(call, "before_id");
  if (before !== undefined && !/^[0-9]{1,15}$/.test(before)) {
    throw new Refusal("query_invalid", `${call.operation.id}: "before_id" must be the number of a revision`);
  }
  const [principal, operation, kind, objectId] = filters.map((name) => readOnce(call, name));
  if (kind !== undefined && !resources.some(({ name }) => name === kind)) {
    throw new Refusal(
      "query_invalid",
      `${call.operation.id}: the kind ${JSON.stringify(kind.slice(0, 64))} does not exist`,
    );
  }
  // The history is indexed by kind, then id.
  const kindWanted = kind ?? (objectId === undefined ? undefined : resourceOfId(objectId)?.name);
  const { revisions, more } = await context.store.history.revisions(accountId, {
    limit,
    ...(before !== undefined && { before: Number(before) }),
    ...(principal !== undefined && { principal }),
    ...(operation !== undefined && { operation }),
    ...(kindWanted !== undefined && { kind: kindWanted }),
    ...(objectId !== undefined && { objectId }),
  });
  const items: string[] = [];
  for (const one of revisions) {
    try {
      items.push(JSON.stringify(await renderRevision(one, call, context, maxListed)));
    } catch (error) {
      if (!(error instanceof Refusal) || error.reason !== "revision_pruned") throw error;
      // This revision was pruned while the page was created, and so were all older ones.
      break;
    }
  }
  const given = new URLSearchParams([...call.query].filter(([name]) => filters.includes(name as never))).toString();
  const nextBeforeId = more && items.length === revisions.length ? String(revisions.at(-1)?.revision) : undefined;
  const page = { limit, nextBeforeId, more: given === "" ? "" : `&${given}` };
  return { status: 200, body: pageBody(call, path, "revisions", items, page), revision: context.store.revision };
}

async function getRevision(call: Call, context: ObjectContext): Promise<Reply> {
  const wanted = readNumber(call, context);
  checkRetained(context.store.history, wanted);
  const page = { limit: 1, before: wanted + 1 };
  const { revisions } = await context.store.history.revisions(call.principal.accountId, page);
  const [found] = revisions;
  if (found?.revision !== wanted) throw refuseUnknown(call);
  return {
    status: 200,
    body: JSON.stringify(await renderRevision(found, call, context)),
    revision: context.store.revision,
  };
}

async function renderRevision(
  revision: Revision,
  call: Call,
  context: ObjectContext,
  limit?: number,
): Promise<Record<string, unknown>> {
  const { accountId } = call.principal;
  const ask = limit === undefined ? undefined : limit + 1;
  const changes = await context.store.history.changesOf(accountId, revision.revision, ask);
  return {
    revision: revision.revision,
    uri: `${call.baseUrl}${path}/${revision.revision}`,
    created_at: revision.at,
    principal: revision.principal,
    source: revision.source,
    operation: revision.operation,
    operation_id: revision.operation_id,
    reason: revision.reason ?? "",
    hash: revision.hash,
    changes: changes.slice(0, limit).map((change) => objectChange(change, context.views, call)),
    more_changes: limit !== undefined && changes.length > limit,
  };
}

/** Returns the revision in the path, which must already exist. */
function readNumber(call: Call, { store }: ObjectContext): number {
  const text = call.parameters[0] as string;
  const revision = /^[1-9][0-9]{0,14}$/.test(text) ? Number(text) : 0;
  if (revision === 0 || revision > store.revision) throw refuseUnknown(call);
  return revision;
}

function refuseUnknown(call: Call): Refusal {
  const shown = JSON.stringify((call.parameters[0] as string).slice(0, 64));
  return new Refusal("revision_unknown", `this account has no revision ${shown}`);
}

const changesSchema = { type: "array", items: { $ref: schemaRef("ObjectChange") } };
const uriSchema = { type: "string", description: "URI of the revision." };

const revisionSchema: JsonSchema = {
  type: "object",
  description: "A write with its author, operation, reason and changes. Changed secrets are marked, but not shown.",
  properties: {
    revision: { type: "integer", description: "Number of the revision; later writes have higher numbers." },
    uri: uriSchema,
    created_at: { type: "string", format: "date-time", description: "Time of the write." },
    principal: { type: "string", description: "Id of the API key, or `system`." },
    source: { type: ["string", "null"], description: "Source address of the request, if there was a request." },
    operation: { type: "string", description: "The operation, such as `updateIPPolicy`." },
    operation_id: { type: "string", description: "Id of the request, as in its answer and the log." },
    reason: { type: "string", description: "The request's `Postern-Reason`, decoded." },
    hash: { type: "string", description: "SHA-256 of the previous revision's hash and this revision's content." },
    changes: changesSchema,
    more_changes: { type: "boolean", description: "Whether the list omits some changes; the revision itself has all." },
  },
  required: [
    "revision",
    "uri",
    "created_at",
    "principal",
    "source",
    "operation",
    "operation_id",
    "reason",
    "hash",
    "changes",
    "more_changes",
  ],
  additionalProperties: false,
};

const listSchema: JsonSchema = {
  type: "object",
  description: "A page of writes.",
  properties: {
    revisions: { type: "array", items: { $ref: schemaRef("Revision") }, maxItems: 100 },
    uri: { type: "string", description: "URI of the list." },
    next_page_uri: { type: ["string", "null"], description: "URI of the next page; null on the last page." },
  },
  required: ["revisions", "uri", "next_page_uri"],
  additionalProperties: false,
};

const rollbackSchema: JsonSchema = {
  type: "object",
  description: "Changes that a rollback made or would make.",
  properties: {
    applied: { type: "boolean", description: "Whether the changes were made." },
    revision: {
      type: "integer",
      description: "The new revision; the last one if there was nothing to change, or for a dry run.",
    },
    hash: planHashSchema,
    uri: uriSchema,
    summary: summarySchema,
    changes: changesSchema,
  },
  required: ["applied", "revision", "hash", "uri", "summary", "changes"],
  additionalProperties: false,
};
