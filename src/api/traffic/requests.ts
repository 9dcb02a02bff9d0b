/** Requests that have ended at the edge: why a visitor was turned away. */
import { Refusal } from "../../lib/errors.ts";
import type { EdgeQuestion, RequestTrace } from "../../routing/planes/questions.ts";
import type { Call, Operation, Reply } from "../operation/call.ts";
import type { EdgeQueries } from "../edges/queries.ts";
import { pageBody, pageQuery, readPageQuery } from "../objects/pages.ts";
import { exampleBaseUrl } from "../objects/example-replies.ts";
import { exampleRequest } from "./examples.ts";
import { requestListSchema, requestSchema, stepSchema } from "./schemas.ts";
import { steps } from "./steps.ts";

const path = "/requests";

export function requestOperations(queries: Pick<EdgeQueries, "ask">): Operation[] {
  const shared = { takes: "nothing", status: 200, refusals: ["edge_silent"] } as const;
  return [
    {
      ...shared,
      id: "listRequests",
      method: "GET",
      path,
      query: pageQuery,
      summary:
        "List requests that ended lately, newest first: those that were denied, answered at the edge or failed, and a sample of the others.",
      replySchema: "RequestList",
      exampleReply: { requests: [exampleRequest], uri: exampleBaseUrl + path, next_page_uri: null },
      schemas: { RequestList: requestListSchema, Request: requestSchema, Step: stepSchema },
      run: (call) => list(call, queries),
    },
    {
      ...shared,
      id: "getRequest",
      method: "GET",
      path: `${path}/{id}`,
      summary: "Get a request that ended lately, by the id that its client was told, with everything that decided.",
      replySchema: "Request",
      exampleReply: exampleRequest,
      run: (call) => get(call, queries),
    },
  ];
}

async function list(call: Call, queries: Pick<EdgeQueries, "ask">): Promise<Reply> {
  const { limit, beforeId } = readPageQuery(call);
  const { accountId } = call.principal;
  const { requests, more } = await ask(queries, { name: "requests", accountId, limit, beforeId });
  const items = requests.map((trace) => JSON.stringify(view(trace, call)));
  const nextBeforeId = more ? requests.at(-1)?.id : undefined;
  return { status: 200, body: pageBody(call, path, "requests", items, { limit, nextBeforeId }) };
}

async function get(call: Call, queries: Pick<EdgeQueries, "ask">): Promise<Reply> {
  const id = call.parameters[0] as string;
  const { requests } = await ask(queries, { name: "request", accountId: call.principal.accountId, id });
  const [found] = requests;
  if (!found) {
    throw new Refusal("not_found", `${call.operation.id}: no request ${JSON.stringify(id.slice(0, 64))} is kept`);
  }
  return { status: 200, body: JSON.stringify(view(found, call)) };
}

async function ask(
  queries: Pick<EdgeQueries, "ask">,
  question: EdgeQuestion,
): Promise<{ readonly requests: readonly RequestTrace[]; readonly more: boolean }> {
  const answer = await queries.ask(question);
  return answer.name === "requests" ? answer : { requests: [], more: false };
}

function view(trace: RequestTrace, { baseUrl }: Call): Record<string, unknown> {
  return {
    id: trace.id,
    uri: `${baseUrl}${path}/${trace.id}`,
    ended_at: new Date(trace.endedAt).toISOString(),
    method: trace.method,
    host: trace.host,
    path: trace.path,
    source_ip: trace.source,
    site_id: trace.siteId,
    route_id: trace.routeId ?? null,
    outcome: trace.outcome,
    status_code: trace.status,
    error_code: trace.errorCode ?? null,
    duration_ms: trace.durationMs,
    bytes_in: trace.bytesIn,
    bytes_out: trace.bytesOut,
    cut_short: trace.cutShort,
    steps: steps(trace.steps),
  };
}
