/** The guide to limits has the numbers that the edge keeps to. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { it } from "node:test";
import { defaultAgentLimits } from "../../src/edge/agents/limits.ts";
import { defaultSpliceLimits } from "../../src/edge/connections/limits.ts";
import { defaultLimits } from "../../src/edge/http/context.ts";
import { maxStreams } from "../../src/edge/http2/stream-set.ts";
import { defaultListenerLimits } from "../../src/edge/listeners/limits.ts";
import { edgeSettings } from "../../src/settings/edge.ts";
import { defaultTunnelLimits } from "../../src/tunnel/limits.ts";
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
  "bodies held at once because a module reads them whole": `${http.maxHeldBytes / 1024 ** 2} MiB on each edge`,
  "idle connection between requests": seconds(http.keepAliveMs),
  "age of a connection": seconds(http.maxConnectionAgeMs),
  "client that reads nothing of its response": seconds(http.writeTimeoutMs),
  "HTTP/2 requests at once on a connection": String(maxStreams),
  "first byte of the response": `\`--response-timeout\`, ${edgeSettings.responseTimeout.shownDefault}`,
  "a stream to the agent, or a connection, to open": seconds(http.openTimeoutMs),
  "header of the response": `${http.maxHeadBytes} bytes, ${http.maxFields} fields`,
  "response or WebSocket on which nothing moves": seconds(http.idleTimeoutMs),
  "WebSocket or connection after one side has ended": seconds(http.lingerMs),
  "idle streams kept for each tunnel": `${http.maxIdleStreams}, for ${seconds(http.idleStreamMs)}`,
  ClientHello: `${seconds(defaultListenerLimits.helloTimeoutMs)}, 16 KiB`,
  "TLS handshake": seconds(defaultListenerLimits.handshakeTimeoutMs),
  "a stream to the upstream to open, all tries together": seconds(defaultSpliceLimits.openTimeoutMs),
  "connection on which nothing moves": seconds(defaultSpliceLimits.idleTimeoutMs),
  "connections open at once on a listener": number(defaultListenerLimits.connections),
  "connections open at once from one address": number(defaultListenerLimits.connectionsPerSource),
  "new connections from one address": `${defaultListenerLimits.openingsPerSecond} a second`,
  "connections open at once of one account": number(defaultListenerLimits.connectionsPerAccount),
  authentication: seconds(defaultTunnelLimits.authenticationMs),
  "wrong tokens from one address": `${defaultTunnelLimits.maxWrongTokens} a minute`,
  "sessions of an account": number(defaultAgentLimits.sessionsPerAccount),
  "tunnels of a session, and of an account": `${number(defaultAgentLimits.tunnelsPerSession)} and ${number(defaultAgentLimits.tunnelsPerAccount)}`,
  "labels of a tunnel": `${defaultAgentLimits.labelsPerTunnel}, of ${defaultAgentLimits.labelBytes} bytes`,
  "streams at once to our agent": number(defaultTunnelLimits.maxStreams.postern),
  "streams at once to agents of the Go and Rust SDKs": `${number(defaultTunnelLimits.maxStreams.go)} and ${number(defaultTunnelLimits.maxStreams.rust)}`,
  "requests under way when an agent takes a tunnel away": seconds(defaultAgentLimits.finishMs),
};

it("the guide to limits has the numbers that the edge keeps to", () => {
  for (const [name, value] of Object.entries(expected)) assert.equal(rows.get(name), value, name);
  assert.equal(http.upstreamTimeoutMs, edgeSettings.responseTimeout.read(undefined));
  assert.match(guide, /five minutes for the first byte/);
});
