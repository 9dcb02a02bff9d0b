/** What agents have kept of a request, as the API shows it. */
import type { JsonSchema } from "../../schema/json-schema.ts";
import { exampleBaseUrl } from "../objects/example-replies.ts";
import { exampleId, exampleTime } from "../operation/examples.ts";
import { flag, list, object, orNull, text, textOrNull } from "../operation/shapes.ts";
import { exampleRequest } from "./examples.ts";

const fields = (description: string): JsonSchema =>
  list(
    description,
    object("A header field.", {
      name: text("Name, as it was sent."),
      value: text("Value; `(hidden)` for credentials."),
    }),
  );

const body = object("A body, without its framing.", {
  base64: text("What was kept of it, from its beginning."),
  bytes: { type: "integer", description: "Bytes that passed." },
  cut: flag("Whether not all of them were kept."),
  ended: flag("Whether all of it has passed."),
});

const ms = (description: string): JsonSchema => ({
  type: ["number", "null"],
  description: `${description}, milliseconds; null while it is not known.`,
});

export const exchangeSchema = object(
  "A request and its answer as they passed the agent that served it, which alone keeps them: credentials are hidden there.",
  {
    request_id: text("Id of the request."),
    exchange_id: text("Id that the agent has given it, or the replay of it that this is."),
    uri: text("URI of what was kept."),
    replay_of: textOrNull("Of a replay: the `exchange_id` of what it repeats."),
    tunnel_session_id: text("Id of the session whose agent was asked."),
    started_at: { type: "string", format: "date-time", description: "When its first byte came, by the agent's clock." },
    outcome: {
      type: "string",
      enum: ["open", "complete", "cut", "upgraded", "unreadable"],
      description:
        "How it went at the agent: `open` goes on; `cut` ended before its answer was complete; `upgraded` went on in another protocol; `unreadable` was no HTTP.",
    },
    duration_ms: ms("From the first byte to the last"),
    timing: object("Where the time until the answer began went.", {
      edge_ms: ms("At the edge, before it was sent on"),
      tunnel_ms: ms("In the tunnel, both ways"),
      connect_ms: ms("Until the service had taken the connection"),
      upstream_ms: ms("At the service, until its answer began"),
    }),
    request: object("What the service was sent.", {
      method: text("Method."),
      target: text("Path and query."),
      protocol: text("Version of HTTP, as it was sent."),
      headers: fields("Header fields, in order."),
      body,
    }),
    response: orNull(
      object("What it has answered.", {
        status_code: { type: "integer", description: "Status." },
        protocol: text("Version of HTTP, as it was sent."),
        headers: fields("Header fields, in order."),
        trailers: fields("Fields behind the body."),
        body,
      }),
    ),
    replays: {
      ...list(
        "Replays of the request that are kept, newest first.",
        object("A replay.", {
          exchange_id: text("Id that the agent has given it."),
          uri: text("URI of what was kept of it."),
          started_at: { type: "string", format: "date-time", description: "When it was sent." },
          status_code: { type: ["integer", "null"], description: "Status of its answer; null while there is none." },
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
