/** Dry runs at endpoints that agents have published. */
import { Refusal } from "../../lib/errors.ts";
import type { Fields } from "../../schema/fields.ts";
import { parseFields } from "../../schema/parse-fields.ts";
import type { Store, StoredObject } from "../../storage/store.ts";
import type { LiveObjects } from "../edges/live-objects.ts";
import type { EdgeQueries } from "../edges/queries.ts";
import { requireObject } from "../objects/lookup.ts";
import type { Call, Operation, Reply } from "../operation/call.ts";
import { resourceNamed } from "../operation/resource-declarations.ts";
import { inputRefusal } from "../operation/input-refusal.ts";
import { exampleExplanation } from "./traffic-examples.ts";
import {
  connectionFields,
  readDescribedRequest,
  refuseElsewhere,
  replyWithExplanation,
  requestExample,
  requestFields,
  sourceOf,
} from "./explain-operations.ts";
import { explanationSchema, stepSchema } from "./traffic-schemas.ts";

interface Explaining {
  readonly store: Store;
  readonly liveObjects: LiveObjects;
  readonly queries: Pick<EdgeQueries, "ask">;
}

/** Fields that only requests have. */
const ofRequests = Object.keys(requestFields).filter((name) => !(name in connectionFields));

export function explainEndpointOperation(explaining: Explaining): Operation {
  return {
    id: "explainEndpoint",
    method: "POST",
    path: "/endpoints/{id}/explain",
    summary:
      "Simulate a request to an endpoint of an agent or a cloud endpoint. For tls and tcp endpoints, simulate a connection. Nothing is sent.",
    // A dry run changes nothing.
    reads: true,
    takes: "object",
    status: 200,
    input: requestFields satisfies Fields,
    exampleBody: { ...requestExample, url: "https://witty-swan.t.example.com/orders" },
    replySchema: "Explanation",
    schemas: { Explanation: explanationSchema, Step: stepSchema },
    exampleReply: exampleExplanation,
    refusals: ["edge_silent", "not_an_agents_endpoint"],
    run: (call) => explainEndpoint(call, explaining),
  };
}

async function explainEndpoint(call: Call, { store, liveObjects, queries }: Explaining): Promise<Reply> {
  const endpoint = requireObject(resourceNamed("endpoint"), call, liveObjects);
  const { type } = endpoint.doc;
  if (type !== "ephemeral" && type !== "cloud") throw notAnAgents(call, endpoint);
  const { proto, host, port } = endpoint.doc as { proto: "https" | "http" | "tls" | "tcp"; host: string; port: number };
  const { accountId } = call.principal;
  const siteId = endpoint.id;
  if (proto === "tls" || proto === "tcp") {
    const source = readSource(call, proto);
    const country = typeof call.body["country"] === "string" ? call.body["country"].toUpperCase() : undefined;
    const kind = type === "cloud" ? (`${proto}_edge` as const) : (`${proto}_endpoint` as const);
    const question = { accountId, kind, siteId, host: host.replace(/^\*\./, "any."), port, source, country };
    return replyWithExplanation(call, store, await queries.ask({ name: "explain_connection", ...question }));
  }
  const request = readDescribedRequest(call, proto, host.replace(/^\*\./, "any."), "the endpoint has no host");
  const answer = await queries.ask({ name: "explain_request", accountId, siteId, isEndpoint: true, request });
  if (answer.name === "elsewhere") throw refuseElsewhere(call, `this endpoint: "${answer.host}" is not its host`);
  return replyWithExplanation(call, store, answer, request);
}

/** Returns the source of a connection. Rejects fields that only requests have. */
function readSource(call: Call, proto: string): string {
  const { doc, issues } = parseFields(requestFields, call.body, "create");
  const strange = ofRequests
    .filter((name) => call.body[name] !== undefined)
    .map((path) => ({ path, message: `must be absent: ${proto} endpoints have connections, not requests` }));
  if (issues.length + strange.length > 0) throw inputRefusal(call.operation.id, [...issues, ...strange]);
  return sourceOf(call, doc["source_ip"]);
}

function notAnAgents(call: Call, { id, doc }: StoredObject): Refusal {
  const { edge, type } = doc as { edge?: string | null; type: string };
  const instead = typeof edge === "string" ? `ask the edge ${edge}, which serves it` : `it is of type ${type}`;
  return new Refusal("not_an_agents_endpoint", `${call.operation.id} ${id}: ${instead}`);
}
