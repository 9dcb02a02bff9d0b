/** Operations that try a candidate configuration on captured requests. */
import { Refusal } from "../../lib/errors.ts";
import { policyRefusals } from "../../policy/policy-document.ts";
import type { BacktestFilter } from "../../routing/planes/backtests.ts";
import { f } from "../../schema/fields.ts";
import type { Fields } from "../../schema/fields.ts";
import { ipAddress } from "../../schema/formats.ts";
import { parseFields } from "../../schema/parse-fields.ts";
import { documentRefusals, documentSchema } from "../documents/document-operations.ts";
import type { ObjectContext } from "../objects/object-context.ts";
import type { Call, Operation, Reply } from "../operation/call.ts";
import { inputRefusal } from "../operation/input-refusal.ts";
import { refuseMissingScope } from "../operation/missing-scope.ts";
import { seesEverything, seesSecrets } from "../operation/scope.ts";
import { stepSchema } from "../traffic/traffic-schemas.ts";
import { candidateOf } from "./candidate.ts";
import type { BacktestJobs, BacktestState } from "./backtest-jobs.ts";
import { backtestRequestSchema, backtestSchema, exampleBacktest, exampleBacktestRequest } from "./backtest-schemas.ts";
import { viewOfBacktest } from "./backtest-view.ts";
import { dayMs } from "../../lib/durations.ts";

const filterFields = {
  outcome: f.nullableOneOf("Outcome at their time.", ["forwarded", "answered", "denied", "failed"]),
  status_code: f.uint32("Status at their time; 0: any.", { max: 599, default: 0 }),
  module: f.nullableString("Module that acted at their time, such as `ip_restriction`."),
  rule: f.nullableString("Id or name of a rule that acted at their time."),
  source_ip: f.nullableString("Address of the client.", { format: ipAddress }),
  path: f.nullableString("Path, or its beginning with `*` at the end.", { maxBytes: 4096 }),
  user: f.nullableString("E-mail address or id of the visitor.", { maxBytes: 320 }),
  text: f.nullableString("Text in the request id, method, host, path, address, status, error or user."),
} satisfies Fields;

const fields = {
  since: f.nullableString("Start of the requests to try, RFC 3339. Default: 24 hours ago.", { maxBytes: 64 }),
  until: f.nullableString("End of the requests to try, RFC 3339. Default: now.", { maxBytes: 64 }),
  filter: f.object("Which requests to try. Every given condition must hold.", filterFields, { nullable: true }),
} satisfies Fields;

export function backtestOperations(context: ObjectContext, jobs: BacktestJobs): Operation[] {
  const schemas = {
    Backtest: backtestSchema,
    BacktestRequest: backtestRequestSchema(fields),
    Document: documentSchema,
    Step: stepSchema,
  };
  const shared = { needs: "exchanges", replySchema: "Backtest", schemas, exampleReply: exampleBacktest } as const;
  const one = { ...shared, path: "/backtests/{id}", takes: "nothing", status: 200 } as const;
  return [
    {
      ...shared,
      id: "createBacktest",
      method: "POST",
      path: "/backtests",
      summary:
        "Try a candidate configuration on captured requests, without sending or changing anything: count which requests it would decide differently. Only for keys that may write and read everything.",
      takes: "document",
      bodySchema: "BacktestRequest",
      reads: true,
      status: 201,
      exampleBody: exampleBacktestRequest,
      refusals: [...new Set([...documentRefusals, ...policyRefusals, "scope_missing" as const, "work_limit" as const])],
      run: (call) => startBacktest(call, context, jobs),
    },
    {
      ...one,
      id: "getBacktest",
      method: "GET",
      summary: "Get a backtest with its results so far. Results are available for an hour.",
      refusals: ["not_found"],
      run: async (call) => replyWith(call, 200, requireBacktest(call, await jobs.find(...idOf(call))), context),
    },
    {
      ...one,
      id: "deleteBacktest",
      method: "DELETE",
      summary: "Cancel a backtest. Its results so far stay available for an hour.",
      reads: true,
      refusals: ["not_found"],
      run: async (call) => replyWith(call, 200, requireBacktest(call, await jobs.cancel(...idOf(call))), context),
    },
  ];
}

async function startBacktest(call: Call, context: ObjectContext, jobs: BacktestJobs): Promise<Reply> {
  checkScope(call);
  const { document: _document, draft: _draft, ...rest } = call.body;
  const { doc, issues } = parseFields(fields, rest, "create");
  const nowMs = context.clock.now();
  const until = timeOf(doc["until"]) ?? nowMs;
  const since = timeOf(doc["since"]) ?? until - dayMs;
  const found = [...issues];
  for (const name of ["since", "until"] as const) {
    if (Number.isNaN(name === "since" ? since : until)) {
      found.push({ path: name, message: "must be a time such as 2026-01-31T12:00:00Z" });
    }
  }
  if (since >= until) found.push({ path: "since", message: "must be before until" });
  if (found.length > 0) throw inputRefusal(call.operation.id, found);
  const { names, ...candidate } = await candidateOf(call, context);
  const { accountId } = call.principal;
  const job = { ...candidate, accountId, since, until, filter: filterOf(doc["filter"]) };
  const backtest = await jobs.start(job, names);
  return replyWith(call, 201, backtest, context);
}

/** A candidate can read secrets and compare them with requests, so its results reveal both. */
function checkScope({ operation, principal: { scope } }: Call): void {
  if (scope && !scope.write) throw refuseMissingScope(operation, "write");
  if (!seesSecrets(scope)) throw refuseMissingScope(operation, "secrets");
  if (!seesEverything(scope)) {
    throw refuseMissingScope(operation, "metadata:", "it must be allowed to read every object of its account");
  }
}

function timeOf(text: unknown): number | undefined {
  if (typeof text !== "string") return undefined;
  return /^\d{4}-\d\d-\d\dT/.test(text) ? Date.parse(text) : Number.NaN;
}

function filterOf(filter: unknown): BacktestFilter {
  if (filter === null || filter === undefined) return {};
  const { outcome, status_code, module, rule, source_ip, path, user, text } = filter as Readonly<
    Record<string, string | number | null>
  >;
  const set = { outcome, status: status_code, module, rule, sourceIp: source_ip, path, user, text };
  return Object.fromEntries(Object.entries(set).filter(([, value]) => value !== null && value !== 0));
}

function idOf({ principal, parameters: [id = ""] }: Call): [accountId: string, id: string] {
  return [principal.accountId, id];
}

function requireBacktest(call: Call, backtest: BacktestState | undefined): BacktestState {
  if (backtest) return backtest;
  const { operation } = call;
  const [, id] = idOf(call);
  throw new Refusal("not_found", `${operation.id}: no backtest "${id.slice(0, 64)}"; results expire after an hour`);
}

function replyWith(
  call: Call,
  status: number,
  backtest: BacktestState,
  { store }: Pick<ObjectContext, "store">,
): Reply {
  const uri = `${call.baseUrl}/backtests/${backtest.id}`;
  return { status, body: JSON.stringify(viewOfBacktest(backtest, uri)), revision: store.revision };
}
