/** Latency that the edge with all modules of a route adds to an event stream: to its first byte and to each event. */
import { request as requestPlain } from "node:http";
import type { IncomingMessage } from "node:http";
import { Agent, request } from "node:https";
import type { Readable } from "node:stream";
import { createBrotliDecompress, createGunzip } from "node:zlib";
import { signSample } from "../src/webhooks/webhook-verification.ts";
import { api } from "./support/api-client.ts";
import { startLabelledAgent } from "./support/labelled-agent.ts";
import { startServer, startService } from "./support/postern.ts";
import { interleave, median, quantile, table, verdict } from "./support/report.ts";
import { stop } from "./support/system.ts";

interface Named {
  readonly id: string;
}

const streams = 4;
const events = 20;
const rounds = 5;
/** Replaces a coding for direct requests, without the edge. */
const direct = "none";

const service = await startService();
const server = await startServer();
const { agent, backendId } = await startLabelledAgent(server, service.port);
const call = <T>(method: string, path: string, body?: unknown): Promise<T> => api<T>(server.apiUrl, method, path, body);
const policy = await call<Named>("POST", "/ip_policies", {});
await call("POST", "/ip_policy_rules", { ip_policy_id: policy.id, cidr: "127.0.0.0/8", action: "allow" });
const hostports = [`bench.localhost:${server.httpsPort}`];
const edge = await call<Named>("POST", "/edges/https", { hostports, tls_termination: { min_version: "1.3" } });
await call("POST", `/edges/https/${edge.id}/routes`, {
  match_type: "path_prefix",
  match: "/",
  backend: { backend_id: backendId },
  ip_restriction: { ip_policy_ids: [policy.id] },
  user_agent_filter: { allow: [], deny: ["(?i)bot"] },
  webhook_verification: { provider: "github", secret: "s" },
  circuit_breaker: {},
  compression: {},
  request_headers: { add: { "x-client": "${conn.client_ip}" }, remove: ["x-debug"] },
  response_headers: { add: { "x-dial": "${.backend.dial_duration}" }, remove: ["x-powered-by"] },
});

const { headers: signature } = signSample("github", { secret: "s", body: Buffer.alloc(0), url: "", now: 0 });
const tls = new Agent({
  keepAlive: true,
  maxSockets: streams,
  rejectUnauthorized: false,
  servername: "bench.localhost",
});
const decoders: Readonly<Record<string, () => ReturnType<typeof createGunzip>>> = {
  gzip: createGunzip,
  br: createBrotliDecompress,
};

/**
 * Measures the milliseconds from the request to the first event, and from the sending of each event to its decoded
 * arrival.
 */
function follow(
  coding: string,
  count = events,
): Promise<{ readonly first: number; readonly delays: readonly number[] }> {
  const headers = {
    host: "bench.localhost",
    "user-agent": "bench",
    ...signature,
    "accept-encoding": coding,
  };
  const options = { host: "127.0.0.1", path: `/events/${count}`, headers };
  return new Promise((resolve, reject) => {
    const began = process.hrtime.bigint();
    let first = 0;
    const delays: number[] = [];
    const read = (response: IncomingMessage): void => {
      const decoder = decoders[String(response.headers["content-encoding"])];
      if (response.statusCode !== 200 || coding in decoders !== (decoder !== undefined)) {
        reject(new Error(`status ${response.statusCode}, encoded with ${response.headers["content-encoding"]}`));
        return;
      }
      const body: Readable = decoder ? response.pipe(decoder()) : response;
      let text = "";
      body.setEncoding("latin1").on("data", (piece: string) => {
        const now = process.hrtime.bigint();
        if (first === 0) first = Number(now - began) / 1e6;
        text += piece;
        for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
          delays.push(Number(now - BigInt(text.slice(6, text.indexOf(" ", 6)))) / 1e6);
          text = text.slice(end + 2);
        }
      });
      body.on("end", () => resolve({ first, delays }));
      body.on("error", reject);
    };
    const sending =
      coding === direct
        ? requestPlain({ ...options, port: service.port, agent: false }, read)
        : request({ ...options, port: server.httpsPort, agent: tls }, read);
    sending.on("error", reject).end();
  });
}

const contender = (name: string, coding: string) => ({
  name,
  async measure() {
    const followed = await Promise.all(Array.from({ length: streams }, () => follow(coding)));
    const began: number[] = [];
    for (let count = 0; count < firsts; count += 1) began.push((await follow(coding, 1)).first);
    const delays = followed.flatMap((one) => one.delays);
    if (delays.length !== streams * events) throw new Error(`${delays.length} events arrived`);
    return {
      "first p50 ms": quantile(began, 0.5),
      "first p99 ms": quantile(began, 0.99),
      "event p50 ms": quantile(delays, 0.5),
      "event p99 ms": quantile(delays, 0.99),
    };
  },
});
/** Number of consecutive streams with one event, which measure the first byte in each round. */
const firsts = 25;
// Warm up: the first run of code is slow.
for (const coding of [direct, "identity", "gzip", "br"]) {
  for (let count = 0; count < 300; count += 1) await follow(coding, 1);
  await Promise.all(Array.from({ length: streams }, () => follow(coding, 2)));
}
const samples = await interleave(
  [
    contender("service itself", direct),
    contender("postern, not compressed", "identity"),
    contender("postern, gzip", "gzip"),
    contender("postern, br", "br"),
  ],
  rounds,
);
table(`${streams} event streams, an event each 50 ms, all modules but the logins`, samples);
const of = (name: string, figure: "first p50 ms" | "first p99 ms" | "event p50 ms" | "event p99 ms"): number =>
  median((samples.get(name) ?? []).map((row) => row[figure]));
for (const name of ["postern, not compressed", "postern, gzip", "postern, br"]) {
  for (const figure of ["first p50 ms", "first p99 ms", "event p50 ms", "event p99 ms"] as const) {
    verdict(`${figure} added, ${name}`, of(name, figure) - of("service itself", figure), { atMost: 5 });
  }
}
tls.destroy();
for (const child of [agent, server.child, service.child]) await stop(child);
