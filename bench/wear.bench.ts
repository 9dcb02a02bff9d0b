/**
 * Whether a server wears out: CPU of a request at a server with a long life behind it, beside a server that has just
 * started, at the same moments. Also the agent's CPU with more and more visitors.
 */
import { api } from "./support/api-client.ts";
import { startAgent, startServer, startService } from "./support/postern.ts";
import { interleave, sideBySide, table } from "./support/report.ts";
import { cpuMicros, stop } from "./support/system.ts";
import { wrk } from "./support/wrk.ts";

/** Connections of the long life, unless the environment has another number. */
const connections = Number(process.env["WEAR_CONNECTIONS"] ?? 62_000);
const visitors = 4000;
const writes = 120;
const ofServer = "edge CPU µs/request";
const ofAgent = "agent CPU µs/request";

const service = await startService();

const start = async (name: string) => {
  const server = await startServer();
  const agent = await startAgent(server, service.port, "bench");
  const url = `https://bench.localhost:${server.httpsPort}/`;
  return { name, server, agent, url };
};
type Life = Awaited<ReturnType<typeof start>>;

/** Sends new connections, changes of the configuration, and many visitors at the same time. */
const age = async ({ server, url }: Life): Promise<void> => {
  for (let left = connections; left > 0;) {
    const { requests } = await wrk(url, { connections: 16, seconds: 5, headers: ["Connection: close"] });
    left -= requests;
    process.stderr.write(`  ${Math.max(0, left)} connections left   \r`);
  }
  for (let at = 0; at < writes; at += 1) {
    await api(server.apiUrl, "POST", "/ip_policies", { description: `policy ${at}` });
  }
  // The system may refuse some connections. The others are enough.
  await wrk(url, { connections: visitors, seconds: 20 }).catch(() => undefined);
};

const measure = async ({ server, agent, url }: Life, count: number, seconds: number) => {
  const pids = [server.pid, agent.pid as number];
  const before = pids.map((pid) => cpuMicros(pid));
  const { requests } = await wrk(url, { connections: count, seconds });
  const [serverMicros = 0, agentMicros = 0] = pids.map(
    (pid, at) => (cpuMicros(pid) - (before[at] as number)) / requests,
  );
  return { [ofServer]: serverMicros, [ofAgent]: agentMicros };
};

const fresh = await start("just started");
await wrk(fresh.url, { connections: 64, seconds: 5 });
const byVisitors = [64, 1000, 3000].map((count) => ({
  name: `${count} visitors`,
  measure: () => measure(fresh, count, count > 64 ? 15 : 3),
}));
const crowds = await interleave(byVisitors, 3);
table("1 KiB over HTTPS, kept alive, by number of visitors (their connections included)", crowds, [
  [ofAgent, "1000 visitors", "64 visitors", { atMost: 1.3 }],
  [ofAgent, "3000 visitors", "64 visitors", { atMost: 1.75 }],
]);
await stop(fresh.agent);
await fresh.server.stop();

const worn = await start("with a long life");
await age(worn);
const young = await start("just started");
for (const { url } of [worn, young]) await wrk(url, { connections: 64, seconds: 5 });
const lives = [worn, young].map((one) => ({ name: one.name, measure: () => measure(one, 64, 3) }));
const samples = await sideBySide(lives, 10);
table(`1 KiB over HTTPS, after ${connections} connections and ${visitors} visitors`, samples, [
  [ofServer, worn.name, young.name, { atMost: 1.05 }],
  [ofAgent, worn.name, young.name, { atMost: 1.05 }],
]);
for (const { agent, server } of [worn, young]) {
  await stop(agent);
  await server.stop();
}
await stop(service.child);
