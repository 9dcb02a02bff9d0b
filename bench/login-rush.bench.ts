/** Effect of 10,000 logins, 200 at a time, on other traffic; logins per second; and a start with all these sessions. */
import { once } from "node:events";
import { startLoginServer } from "./support/login-server.ts";
import { startServer } from "./support/postern.ts";
import { interleave, median, table, verdict } from "./support/report.ts";
import { latencyUntil } from "./support/requests.ts";
import { run, start, stop, threadTimes } from "./support/system.ts";

const rounds = 5;
const logins = 2_000;
const atOnce = 200;
const perSecond = 300;

const providers = start(process.execPath, ["bench/support/providers.ts"]);
const [line] = (await once(providers.stdout as NonNullable<typeof providers.stdout>, "data")) as [Buffer];
const { server, stopService } = await startLoginServer(line.toString().trim());

async function rush(...more: readonly string[]) {
  const made = run(process.execPath, [
    "bench/support/log-in.ts",
    ...[server.httpsPort, server.caFile, logins, atOnce].map(String),
    ...more,
  ]);
  const before = threadTimes(server.pid, "edge");
  const latency = await latencyUntil(
    made,
    { name: "bare", port: server.httpsPort, serverName: "bare.localhost" },
    perSecond,
  );
  const after = threadTimes(server.pid, "edge");
  const [ms = 0, arrived = 0] = (await made).trim().split(" ").map(Number);
  return {
    ...latency,
    "visitors/s": (arrived * 1000) / ms,
    "edge CPU ms/visitor": (after.cpuMs - before.cpuMs) / logins,
    "edge waited for a core ms/visitor": (after.waitedMs - before.waitedMs) / logins,
    refused: logins - arrived,
  };
}

const samples = await interleave(
  [
    { name: "as many plain requests", measure: () => rush("plain") },
    { name: "logins", measure: () => rush() },
  ],
  rounds,
);
table(`${perSecond} requests/s beside ${logins} visitors, ${atOnce} at once`, samples);
const of = (name: string): readonly number[] => (samples.get(name) ?? []).map((row) => row["p99 ms"]);
const plain = of("as many plain requests");
verdict(
  "p99 beside logins / beside plain requests",
  median(of("logins").map((one, at) => one / (plain[at] as number))),
  {
    atMost: 1.1,
  },
);
await server.stop();

const began = performance.now();
const again = await startServer(server.data);
process.stdout.write(`  start with ${rounds * logins} sessions: ${(performance.now() - began).toFixed(0)} ms\n`);
await again.stop();
await stopService();
await stop(providers);
