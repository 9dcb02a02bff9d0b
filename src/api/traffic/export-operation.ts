/** The operation that streams captured requests, newest first. */
import type { Clock } from "../../lib/clock.ts";
import { Refusal } from "../../lib/errors.ts";
import type { EdgeQuestion } from "../../routing/planes/edge-questions.ts";
import type { EdgeQueries } from "../edges/queries.ts";
import { readOnce } from "../objects/page-query.ts";
import type { Call, Operation } from "../operation/call.ts";
import { readTrafficQuery, requestQuery, trafficQuery } from "./filter-query.ts";
import { harCutShort, harEnd, harEntry, harStart } from "./har.ts";
import { nextOf, viewOfMissing } from "./missing.ts";
import { endedRequests } from "./requests.ts";

const pageSize = 100;
const formats = ["jsonl", "har"] as const;
const mediaTypes = { jsonl: "application/x-ndjson", har: "application/json" } as const;

export function exportOperation(queries: Pick<EdgeQueries, "ask">, clock: Pick<Clock, "now">): Operation {
  return {
    id: "exportRequests",
    method: "GET",
    takes: "nothing",
    path: "/requests/export",
    query: ["format", ...trafficQuery, ...requestQuery],
    summary:
      "Export captured requests, newest first, as JSON Lines or as an HTTP archive (HAR). Header fields and bodies need the scope `exchanges`. If captured requests could not be read, the last line has the reason as `incomplete`.",
    status: 200,
    produces: mediaTypes.jsonl,
    exampleReply: '{"id":"req_0f6yvqk3c5a9m2x7p4r8t1w6z0b","method":"GET","path":"/orders","status_code":200}\n',
    refusals: ["edge_silent"],
    async run(call) {
      const format = readFormat(call);
      const pages = pagesOf(call, queries, clock);
      // The first page is read before the response begins, so that a failure has a status.
      const first = await pages.next();
      return { status: 200, contentType: mediaTypes[format], stream: writeFormat(format, first, pages) };
    },
  };
}

function readFormat(call: Call): (typeof formats)[number] {
  const given = readOnce(call, "format") ?? "jsonl";
  const format = formats.find((one) => one === given);
  if (format === undefined) {
    throw new Refusal("query_invalid", `${call.operation.id}: "format" must be one of ${formats.join(", ")}`);
  }
  return format;
}

/** Yields pages of lines. */
async function* pagesOf(
  call: Call,
  queries: Pick<EdgeQueries, "ask">,
  clock: Pick<Clock, "now">,
): AsyncGenerator<readonly string[], undefined> {
  const { accountId, id: keyId, scope } = call.principal;
  const whole = (scope?.exchanges ?? true) ? "with content" : "without content";
  const asked = readTrafficQuery(call, endedRequests.outcomes, clock.now());
  let beforeId: string | undefined;
  for (;;) {
    const question: EdgeQuestion = { name: "requests", accountId, limit: pageSize, beforeId, keyId, whole, ...asked };
    const answer = await queries.ask(question);
    if (answer.name !== "requests") return undefined;
    yield answer.requests.flatMap(({ whole: line }) => (line === undefined ? [] : [line]));
    const { missing } = answer;
    const next = nextOf(answer.requests, missing);
    // A search that took too long continues here. For any other reason, the last line says what is missing.
    if (missing !== undefined && (missing.reason !== "time" || next === undefined || next === beforeId)) {
      yield [JSON.stringify({ incomplete: viewOfMissing(missing) })];
      return undefined;
    }
    beforeId = next;
    if (!answer.more || beforeId === undefined) return undefined;
  }
}

async function* writeFormat(
  format: (typeof formats)[number],
  first: IteratorResult<readonly string[], undefined>,
  rest: AsyncIterable<readonly string[]>,
): AsyncGenerator<string> {
  const isHar = format === "har";
  let isFirst = true;
  let end = harEnd;
  const render = (lines: readonly string[]): string => {
    if (!isHar) return lines.map((line) => `${line}\n`).join("");
    const entries = lines.filter(isRequest).map(harEntry).join(",");
    end = lines.every(isRequest) ? harEnd : harCutShort;
    const comma = isFirst || entries === "" ? "" : ",";
    if (entries !== "") isFirst = false;
    return comma + entries;
  };
  if (isHar) yield harStart;
  if (first.done !== true) yield render(first.value);
  for await (const lines of rest) yield render(lines);
  if (isHar) yield end;
}

/** Whether the line contains a request. The last line may say why others are missing. */
function isRequest(line: string): boolean {
  return !line.startsWith('{"incomplete":');
}
