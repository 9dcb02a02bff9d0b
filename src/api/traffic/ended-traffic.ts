/** The two operations on ended traffic at the edge: on requests, and on connections. */
import type { Clock } from "../../lib/clock.ts";
import { Refusal } from "../../lib/errors.ts";
import type { EdgeAnswer, EdgeQuestion } from "../../routing/planes/edge-questions.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import type { EdgeQueries } from "../edges/queries.ts";
import { exampleBaseUrl } from "../objects/example-replies.ts";
import { pageBody, pageQuery, readPageQuery } from "../objects/page-query.ts";
import { queryOf, readTrafficQuery } from "./filter-query.ts";
import { nextOf, viewOfMissing } from "./missing.ts";
import type { Missing } from "../../routing/planes/missing-records.ts";
import type { Operation } from "../operation/call.ts";

export interface FoundTraces<Trace> {
  readonly traces: readonly Trace[];
  readonly more: boolean;
  readonly missing: Missing | undefined;
}

/** Declaration for requests or for connections. */
export interface EndedTraffic<Trace> {
  /** Name in paths, and key of lists. */
  readonly plural: "requests" | "connections";
  readonly singular: "request" | "connection";
  /** Names of the operations and of their replies. */
  readonly ids: { readonly list: string; readonly get: string };
  readonly schemaName: string;
  readonly summaries: { readonly list: string; readonly get: string };
  readonly schema: JsonSchema;
  readonly listSchema: JsonSchema;
  /** Schemas that the replies refer to. */
  readonly schemas?: Readonly<Record<string, JsonSchema>>;
  readonly example: Readonly<Record<string, unknown>>;
  /** Query parameters of its list, besides those of pages. */
  readonly query: readonly string[];
  /** Possible outcomes. */
  readonly outcomes: readonly string[];
  tracesIn(answer: EdgeAnswer): FoundTraces<Trace> | undefined;
  view(trace: Trace, uri: string): Record<string, unknown>;
}

export function makeTraceOperations<Trace extends { readonly id: string }>(
  kind: EndedTraffic<Trace>,
  queries: Pick<EdgeQueries, "ask">,
  clock: Pick<Clock, "now">,
): Operation[] {
  const { plural, singular, ids, schemaName, summaries, example } = kind;
  const path = `/${plural}`;
  const shared = { takes: "nothing", status: 200, refusals: ["edge_silent"] } as const;
  const ask = async (question: EdgeQuestion): Promise<FoundTraces<Trace>> =>
    kind.tracesIn(await queries.ask(question)) ?? { traces: [], more: false, missing: undefined };
  const text = (trace: Trace, baseUrl: string): string =>
    JSON.stringify(kind.view(trace, `${baseUrl}${path}/${trace.id}`));
  return [
    {
      ...shared,
      id: ids.list,
      method: "GET",
      path,
      query: [...pageQuery, ...kind.query],
      summary: summaries.list,
      replySchema: `${schemaName}List`,
      exampleReply: { [plural]: [example], uri: exampleBaseUrl + path, next_page_uri: null, incomplete: null },
      schemas: { [`${schemaName}List`]: kind.listSchema, [schemaName]: kind.schema, ...kind.schemas },
      async run(call) {
        const { limit, beforeId } = readPageQuery(call);
        const { accountId, id: keyId } = call.principal;
        const asked = readTrafficQuery(call, kind.outcomes, clock.now());
        const { traces, more, missing } = await ask({ name: plural, accountId, limit, beforeId, keyId, ...asked });
        const items = traces.map((trace) => text(trace, call.baseUrl));
        const nextBeforeId = more ? nextOf(traces, missing) : undefined;
        const members = `"incomplete":${JSON.stringify(viewOfMissing(missing))}`;
        return {
          status: 200,
          body: pageBody(call, path, plural, items, { limit, nextBeforeId, more: queryOf(asked), members }),
        };
      },
    },
    {
      ...shared,
      id: ids.get,
      method: "GET",
      path: `${path}/{id}`,
      summary: summaries.get,
      replySchema: schemaName,
      exampleReply: example,
      async run(call) {
        const id = call.parameters[0] as string;
        const { accountId, id: keyId } = call.principal;
        const { traces, missing } = await ask({ name: singular, accountId, id, keyId });
        const [found] = traces;
        if (!found && missing !== undefined) {
          throw new Refusal("edge_silent", `${call.operation.id}: captured requests cannot be searched; try again`);
        }
        if (!found) {
          const named = JSON.stringify(id.slice(0, 64));
          throw new Refusal("not_found", `${call.operation.id}: there is no stored ${singular} ${named}`);
        }
        return { status: 200, body: text(found, call.baseUrl) };
      },
    },
  ];
}
