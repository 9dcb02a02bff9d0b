/** What a second edge costs, and the hop to it: CPU of a request that finds its agent at the visitor's edge, and elsewhere. */
import { interleave, median, quantile, table, verdict } from "./support/report.ts";
import { startAgent, startServer, startService } from "./support/postern.ts";
import { client } from "./support/requests.ts";
import { cpuMicros, stop } from "./support/system.ts";
import { wrk } from "./support/wrk.ts";

const service = await startService();
const [one, near, far] = [
  await startServer(undefined, ["--edges", "1"]),
  await startServer(undefined, ["--edges", "2"]),
  await startServer(undefined, ["--edges", "2"]),
];
/** As many as make it sure that each of two edges has one. */
const poolSize = 8;
const pooled = Array.from({ length: poolSize }, () =>
  startAgent(near, service.port, "bench", near.agentPort, ["--pooling"]),
);
const agents = [
  await startAgent(one, service.port, "bench"),
  await startAgent(far, service.port, "bench"),
  ...(await Promise.all(pooled)),
];

const contender = (name: string, server: typeof one) => ({
  name,
  async measure() {
    const before = cpuMicros(server.pid);
    const url = `https://bench.localhost:${server.httpsPort}/`;
    const result = await wrk(url, { connections: 64, seconds: 3 });
    return {
      "edge CPU µs/request": (cpuMicros(server.pid) - before) / result.requests,
      "requests/s": result.perSecond,
    };
  },
});
const contenders = [
  contender("one edge", one),
  contender("two edges, agents at both", near),
  contender("two edges, one agent: every other request hops", far),
];
for (const { measure } of contenders) await measure();
const samples = await interleave(contenders, 5);
table("1 KiB over HTTPS, keep-alive, 64 connections", samples);
const cpu = (at: number): number =>
  median((samples.get(contenders[at]?.name ?? "") ?? []).map((row) => row["edge CPU µs/request"]));
verdict("CPU with two edges / with one", cpu(1) / cpu(0), { atMost: 1.1 });
verdict("CPU with the hop / without", (2 * cpu(2) - cpu(1)) / cpu(1), { atMost: 1.7 });

/** Half of the connections are at the edge that has the agent: the quick ones. */
const connections = 32;
const requestsEach = 300;
const medians: number[] = [];
for (let at = 0; at < connections; at += 1) {
  const http = client({ name: "postern", port: far.httpsPort, serverName: "bench.localhost" }, 1);
  await http.send({ path: "/" });
  const took: number[] = [];
  for (let sent = 0; sent < requestsEach; sent += 1) {
    const began = performance.now();
    await http.send({ path: "/" });
    took.push(performance.now() - began);
  }
  http.close();
  medians.push(quantile(took, 0.5));
}
verdict("p50 added by the hop, ms", quantile(medians, 0.8) - quantile(medians, 0.2), { atMost: 0.4 });
for (const child of [...agents, one.child, near.child, far.child, service.child]) await stop(child);
