import { websocketProof } from "../lib/websocket-proof.ts";
import { defineModule } from "../traffic/module.ts";
import { readOnlyValue } from "../traffic/parts/only-value.ts";
import type { Exchange } from "../traffic/exchange.ts";
import { changeStep, denyStep } from "../traffic/step.ts";
import type { Step } from "../traffic/step.ts";
import { joinWebSocketToTcp } from "../websocket/tcp-converter.ts";

export const websocketTcpConverter = defineModule({
  name: "websocket_tcp_converter",
  schemaName: "EndpointWebsocketTCPConverter",
  on: ["https_route"],
  doc: "Converts WebSockets to TCP: binary messages become bytes on a connection to the backend, and bytes from the backend become binary messages. Text messages and requests without a WebSocket upgrade are rejected.",
  acts: { request: ["refuse", "answer"] },
  fields: {},
  compile: (_config, { clock }) => ({
    request: ({ request }) => {
      if (!request.websocket) return noUpgrade;
      if (readOnlyValue(request.headers, "sec-websocket-version") !== "13") return otherVersion;
      return isKey(request.headers.getAll("sec-websocket-key")) ? converted : noKey;
    },
    converter: {
      accept: acceptHeaders,
      join: (client, upstream) => joinWebSocketToTcp(client, upstream, clock),
    },
  }),
});

const name = "websocket_tcp_converter";
const converted = changeStep(name, "binary messages become bytes to the backend, and back");
const noUpgrade = denyStep(name, "not_websocket", "the request is not a WebSocket upgrade");
const noKey = denyStep(name, "not_websocket", "the request has no valid Sec-WebSocket-Key");
/** RFC 6455 §4.4: names the supported version. */
const otherVersion: Step = Object.freeze({
  ...denyStep(name, "not_websocket", "the WebSocket version is not 13"),
  answer: { error: "not_websocket", headers: { "sec-websocket-version": "13" } },
} as const);

/** 16 bytes in base64 (RFC 6455 §4.2.1). */
function isKey(values: readonly string[]): boolean {
  return values.length === 1 && /^[A-Za-z0-9+/]{21}[AQgw]==$/.test(values[0] as string);
}

function acceptHeaders({ request }: Exchange): Readonly<Record<string, string>> {
  const proof = websocketProof(request.headers.get("sec-websocket-key") ?? "");
  const offered = request.headers
    .getAll("sec-websocket-protocol")
    .flatMap((value) => value.split(","))
    .map((value) => value.trim())
    .filter((value) => value !== "");
  // Browsers fail the connection if they offer protocols and none is selected.
  const protocol = offered.includes("binary") ? "binary" : offered[0];
  return { "sec-websocket-accept": proof, ...(protocol !== undefined && { "sec-websocket-protocol": protocol }) };
}
