/** Schemas of requests that agents have captured. */
import type { JsonSchema } from "../../schema/json-schema.ts";
import { exampleBaseUrl } from "../objects/example-replies.ts";
import { exampleId, exampleTime } from "../operation/example-ids.ts";
import { flagSchema, listSchema, object, orNull, textSchema, textOrNull } from "../operation/shapes.ts";
import { exampleRequest } from "./traffic-examples.ts";

const headersSchema = (description: string): JsonSchema =>
  listSchema(
    description,
    object("A header field.", {
      name: textSchema("Name, as sent."),
      value: textSchema("Value; `(hidden)` for credentials."),
    }),
  );

const body = object("A body, without its framing.", {
  base64: textSchema("The captured start of the body."),
  bytes: { type: "integer", description: "Bytes of the whole body." },
  cut: flagSchema("Whether the captured part is incomplete."),
  ended: flagSchema("Whether the whole body was transferred."),
});

const millisecondsSchema = (description: string): JsonSchema => ({
  type: ["number", "null"],
  description: `${description}, milliseconds; null if unknown.`,
});

export const exchangeSchema = object(
  "A request and its response as captured by the agent that handled it. Only the agent stores it, without credentials.",
  {
    request_id: textSchema("Id of the request."),
    exchange_id: textSchema("Id from the agent, or the id of this replay."),
    uri: textSchema("URI of the captured request."),
    replay_of: textOrNull("For a replay: the `exchange_id` of the original request."),
    tunnel_session_id: textSchema("Id of the agent's session."),
    started_at: { type: "string", format: "date-time", description: "Time of the first byte, by the agent's clock." },
    outcome: {
      type: "string",
      enum: ["open", "complete", "cut", "upgraded", "unreadable"],
      description:
        "State at the agent: `open` is still running; `cut` ended before its response was complete; `upgraded` switched to another protocol; `unreadable` was not valid HTTP.",
    },
    duration_ms: millisecondsSchema("From the first byte to the last"),
    timing: object("Parts of the time until the response began.", {
      edge_ms: millisecondsSchema("At the edge, before forwarding"),
      tunnel_ms: millisecondsSchema("In the tunnel, both ways"),
      connect_ms: millisecondsSchema("Until the service accepted the connection"),
      upstream_ms: millisecondsSchema("At the service, until its response began"),
    }),
    request: object("The request to the service.", {
      method: textSchema("Method."),
      target: textSchema("Path and query."),
      protocol: textSchema("HTTP version, as sent."),
      headers: headersSchema("Header fields, in order."),
      body,
    }),
    response: orNull(
      object("The service's response.", {
        status_code: { type: "integer", description: "Status." },
        protocol: textSchema("HTTP version, as sent."),
        headers: headersSchema("Header fields, in order."),
        trailers: headersSchema("Trailer fields after the body."),
        body,
      }),
    ),
    replays: {
      ...listSchema(
        "Stored replays of the request, newest first.",
        object("A replay.", {
          exchange_id: textSchema("Id from the agent."),
          uri: textSchema("URI of the captured replay."),
          started_at: { type: "string", format: "date-time", description: "Time of the replay." },
          status_code: {
            type: ["integer", "null"],
            description: "Status of its response; null while the replay has no response.",
          },
        }),
      ),
      maxItems: 20,
    },
  },
);

const [exchangeId, replayId] = ["548fb5c700000002", "548fb5c700000003"];
const uri = `${exampleBaseUrl}/requests/${exampleRequest.id}/exchange`;

export const exampleExchange = {
  request_id: exampleRequest.id,
  exchange_id: exchangeId,
  uri,
  replay_of: null,
  tunnel_session_id: exampleId("tunnel_session"),
  started_at: exampleTime,
  outcome: "complete",
  duration_ms: 12.5,
  timing: { edge_ms: 0.3, tunnel_ms: 1.2, connect_ms: 0.4, upstream_ms: 11.2 },
  request: {
    method: "POST",
    target: "/orders?dry",
    protocol: "HTTP/1.1",
    headers: [
      { name: "Host", value: "app.example.com" },
      { name: "Authorization", value: "(hidden)" },
      { name: "Content-Type", value: "application/json" },
    ],
    body: { base64: "eyJpdGVtIjoxfQ==", bytes: 10, cut: false, ended: true },
  },
  response: {
    status_code: 201,
    protocol: "HTTP/1.1",
    headers: [{ name: "Content-Type", value: "text/plain" }],
    trailers: [],
    body: { base64: "b2s=", bytes: 2, cut: false, ended: true },
  },
  replays: [
    { exchange_id: replayId, uri: `${uri}?exchange_id=${replayId}`, started_at: exampleTime, status_code: 201 },
  ],
};

export const exampleReplay = {
  ...exampleExchange,
  exchange_id: replayId,
  uri: `${uri}?exchange_id=${replayId}`,
  replay_of: exchangeId,
  timing: { edge_ms: null, tunnel_ms: null, connect_ms: 0.4, upstream_ms: 11.2 },
};
