/**
 * Cost of a second edge and of the hop to it: CPU of a request whose agent is at the visitor's edge, and of one whose
 * agent is not.
 */
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
/** By default, Postern's agent has a session at each edge, so that no request hops. */
const agents = [
  await startAgent(one, service.port, "bench"),
  await startAgent(near, service.port, "bench"),
  await startAgent(far, service.port, "bench", far.agentPort, ["--connections", "1"]),
];
/** Enough connections that the system gives each of two edges about half of them, and one edge has the agent. */
const visitors = 64;

const contender = (name: string, server: typeof one, connections = visitors) => ({
  name,
  async measure() {
    const before = cpuMicros(server.pid);
    const url = `https://bench.localhost:${server.httpsPort}/`;
    const result = await wrk(url, { connections, seconds: 4 });
    return {
      "edge CPU µs/request": (cpuMicros(server.pid) - before) / result.requests,
      "requests/s": result.perSecond,
    };
  },
});
const contenders = [
  contender("one edge", one),
  contender("two edges, agent at both", near),
  contender("two edges, agent at one: every other request hops", far),
  // An edge handles several requests each time that it wakes up. Two edges share the visitors, so each handles fewer.
  contender("one edge, half of the connections", one, visitors / 2),
];
for (const { measure } of contenders) await measure();
const samples = await interleave(contenders, 7);
table(`1 KiB over HTTPS, keep-alive, ${visitors} connections`, samples);
/** Median over the rounds, because other load on the machine affects all contenders of a round. */
const perRound = (ratio: (one: number, near: number, far: number, half: number) => number): number => {
  const rows = contenders.map(({ name }) => samples.get(name) ?? []);
  const figures = (rows[0] ?? []).map((_row, round) =>
    rows.map((of) => of[round]?.["edge CPU µs/request"] ?? Number.NaN),
  );
  return median(figures.map(([one = 0, near = 0, far = 0, half = 0]) => ratio(one, near, far, half)));
};
verdict(
  "CPU with two edges / with one",
  perRound((alone, both) => both / alone),
  { atMost: 1.1 },
);
verdict(
  "CPU with two edges / with one, the same number of connections at each edge",
  perRound((_alone, both, _far, half) => both / half),
  { atMost: 1.1 },
);
verdict(
  "CPU with the hop / without",
  perRound((_alone, both, half) => (2 * half - both) / both),
  { atMost: 1.7 },
);

/** Half of the connections, the fast ones, are at the edge with the agent. */
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
