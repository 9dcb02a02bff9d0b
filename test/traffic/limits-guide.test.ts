/** The guide to limits states the numbers that the edge enforces. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { it } from "node:test";
import { defaultAgentLimits } from "../../src/edge/agents/tunnels/agent-limits.ts";
import { defaultSpliceLimits } from "../../src/edge/connections/splice-limits.ts";
import { defaultLimits } from "../../src/edge/http/http-context.ts";
import { maxStreams } from "../../src/edge/http2/stream-set.ts";
import { defaultListenerLimits } from "../../src/edge/listeners/listener-limits.ts";
import { edgeSettings } from "../../src/settings/edge.ts";
import { defaultTunnelLimits } from "../../src/tunnel/tunnel-limits.ts";
import { root } from "../support/command.ts";

const guide = readFileSync(`${root}docs/guides/limits.md`, "utf8");
/** Values by the name of the limit. */
const rows = new Map(
  [...guide.matchAll(/^\| ([^|]+?) +\| ([^|]+?) +\| [^|]+\|$/gm)].map(([, name, value]) => [name, value] as const),
);

const seconds = (ms: number): string => (ms % 3_600_000 === 0 ? `${ms / 3_600_000} h` : `${ms / 1000} s`);
const number = (value: number): string => value.toLocaleString("en");
const http = defaultLimits;
const expected: Readonly<Record<string, string>> = {
  "request line and header fields": `${http.maxHeadBytes} bytes, ${http.maxFields} fields`,
  "path and query": `${http.maxTargetBytes} bytes`,
  "time for the header": seconds(http.headTimeoutMs),
  "rate of a body": `${(http.minBodyBytesPerSecond * http.bodyWindowMs) / 1000} bytes in ${seconds(http.bodyWindowMs)}`,
  "bodies held in memory for modules, all together": `${http.maxHeldBytes / 1024 ** 2} MiB on each edge`,
  "idle connection between requests": seconds(http.keepAliveMs),
  "age of a connection": seconds(http.maxConnectionAgeMs),
  "client that does not read its response": seconds(http.writeTimeoutMs),
  "concurrent HTTP/2 requests on a connection": String(maxStreams),
  "first byte of the response": `\`--response-timeout\`, ${edgeSettings.responseTimeout.shownDefault}`,
  "opening a stream to the agent, or a connection": seconds(http.openTimeoutMs),
  "header of the response": `${http.maxHeadBytes} bytes, ${http.maxFields} fields`,
  "idle response or WebSocket": seconds(http.idleTimeoutMs),
  "WebSocket or connection after one side ended": seconds(http.lingerMs),
  "idle streams kept for each tunnel": `${http.maxIdleStreams}, for ${seconds(http.idleStreamMs)}; others for ${seconds(http.surplusStreamMs)}`,
  ClientHello: `${seconds(defaultListenerLimits.helloTimeoutMs)}, 16 KiB`,
  "TLS handshake": seconds(defaultListenerLimits.handshakeTimeoutMs),
  "opening a stream to the service, all attempts": seconds(defaultSpliceLimits.openTimeoutMs),
  "idle connection": seconds(defaultSpliceLimits.idleTimeoutMs),
  "open connections on a listener": number(defaultListenerLimits.connections),
  "open connections from one address": number(defaultListenerLimits.connectionsPerSource),
  "new connections from one address": `${defaultListenerLimits.openingsPerSecond} a second`,
  "open connections of one account": number(defaultListenerLimits.connectionsPerAccount),
  authentication: seconds(defaultTunnelLimits.authenticationMs),
  "wrong tokens from one address": `${defaultTunnelLimits.maxWrongTokens} a minute`,
  "sessions of an account": number(defaultAgentLimits.sessionsPerAccount),
  "tunnels of a session, and of an account": `${number(defaultAgentLimits.tunnelsPerSession)} and ${number(defaultAgentLimits.tunnelsPerAccount)}`,
  "labels of a tunnel": `${defaultAgentLimits.labelsPerTunnel}, of ${defaultAgentLimits.labelBytes} bytes`,
  "concurrent streams to a Postern agent": number(defaultTunnelLimits.maxStreams.postern),
  "concurrent streams to agents of the Go and Rust SDKs": `${number(defaultTunnelLimits.maxStreams.go)} and ${number(defaultTunnelLimits.maxStreams.rust)}`,
  "current requests when an agent removes a tunnel": seconds(defaultAgentLimits.finishMs),
};

it("the guide to limits states the numbers that the edge enforces", () => {
  for (const [name, value] of Object.entries(expected)) assert.equal(rows.get(name), value, name);
  assert.equal(http.upstreamTimeoutMs, edgeSettings.responseTimeout.read(undefined));
  assert.match(guide, /five minutes for the first byte/);
});
