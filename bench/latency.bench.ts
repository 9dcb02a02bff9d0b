/** Latency that the edge and the tunnel add to a request at a fixed 300 requests a second. */
import { interleave, median, quantile, table, verdict } from "./support/report.ts";
import { startAgent, startServer, startService } from "./support/postern.ts";
import { startNginx, startSsh } from "./support/peers.ts";
import { client } from "./support/requests.ts";
import type { Target } from "./support/requests.ts";
import { stop } from "./support/system.ts";

const perSecond = 300;
const seconds = 4;

const service = await startService();
const server = await startServer();
const agent = await startAgent(server, service.port, "bench");
const [nginx, ssh] = [await startNginx(service.port), await startSsh(service.port)];

/** Open loop: requests start on schedule, regardless of earlier responses. */
async function fixedRate(target: Target): Promise<{ readonly "p50 ms": number; readonly "p99 ms": number }> {
  const http = client(target, 16);
  await Promise.all(Array.from({ length: 16 }, () => http.send({ path: "/" })));
  const took: number[] = [];
  const under: Promise<unknown>[] = [];
  const start = performance.now();
  for (let sent = 0; sent < perSecond * seconds; sent += 1) {
    const wait = start + (sent * 1000) / perSecond - performance.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    const began = performance.now();
    under.push(http.send({ path: "/" }).then(() => took.push(performance.now() - began)));
  }
  await Promise.all(under);
  http.close();
  return { "p50 ms": quantile(took, 0.5), "p99 ms": quantile(took, 0.99) };
}

const contender = (target: Target) => ({ name: target.name, measure: () => fixedRate(target) });
const samples = await interleave(
  [
    contender({ name: "service itself", port: service.port }),
    contender({ name: "postern", port: server.httpsPort, serverName: "bench.localhost" }),
    contender({ name: "nginx (no tunnel)", port: nginx.port, serverName: "bench.localhost" }),
    contender({ name: "ssh -R", port: ssh.port }),
  ],
  5,
);
table(`Latency at ${perSecond} requests/s`, samples, [
  ["p50 ms", "postern", "nginx (no tunnel)", { atMost: 1.7 }],
  ["p99 ms", "postern", "nginx (no tunnel)", { atMost: 3 }],
]);
const p50 = (name: string): number => median((samples.get(name) ?? []).map((row) => row["p50 ms"]));
verdict("p50 added by postern, ms", p50("postern") - p50("service itself"), { atMost: 0.3 });
for (const child of [agent, server.child, nginx.child, ssh.child, service.child]) await stop(child);
