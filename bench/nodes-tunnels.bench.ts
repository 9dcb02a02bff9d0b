/**
 * 20,000 tunnels in 2,000 sessions of one node: their memory at another node, and their recovery when their node dies.
 */
import { api } from "./support/api-client.ts";
import { heapBytes, startCluster, threadSeconds, threadWaits } from "./support/cluster.ts";
import { authtoken } from "./support/postern.ts";
import type { PosternServer } from "./support/postern.ts";
import { verdict } from "./support/report.ts";
import { cpuMicros, says, start, stop } from "./support/system.ts";

/** Numbers that can be changed for shared machines: `BENCH_SESSIONS`, and `BENCH_TUNNELS` of each session. */
const sessions = Number(process.env["BENCH_SESSIONS"] ?? 2_000);
const each = Number(process.env["BENCH_TUNNELS"] ?? 10);
const print = (text: string): void => void process.stdout.write(`${text}\n`);

const cluster = await startCluster(2);
const [first, other] = cluster.nodes as [PosternServer, PosternServer];
const doomed = await cluster.startNode();
const before = await heapBytes(other);
const agents = start(
  process.execPath,
  ["bench/support/moving-sessions.ts", ...[doomed.agentPort, first.agentPort].map(String), doomed.caFile].concat(
    [sessions, each].map(String),
  ),
  { POSTERN_AUTHTOKEN: authtoken },
);
print(`bound after ${(await says(agents, "bound ")).trim()} ms`);
const listed = await api<{ readonly nodes: readonly { readonly agents: number }[] }>(other.apiUrl, "GET", "/nodes");
print(
  `\n${sessions * each} tunnels of another node; agents that nodes tell of: ${listed.nodes.map(({ agents: n }) => n).join(", ")}`,
);
const after = await heapBytes(other);
const share = (thread: string): number => ((after.get(thread) ?? 0) - (before.get(thread) ?? 0)) / (sessions * each);
print(
  `  bytes of each in the heaps: ${[...after.keys()].map((thread) => `${thread} ${share(thread).toFixed(0)}`).join(", ")}`,
);
verdict(
  "bytes of each in both",
  [...after.keys()].reduce((sum, thread) => sum + share(thread), 0),
  { atMost: 200 },
);
const used = {
  first: threadSeconds(first.pid),
  waited: threadWaits(first.pid),
  other: threadSeconds(other.pid),
  agents: cpuMicros(agents.pid as number) / 1e6,
  database: cluster.databaseSeconds(),
  transactions: await cluster.transactions(),
};
doomed.child.kill("SIGKILL");
const back = Number((await says(agents, "back ")).trim());
verdict(`${sessions} sessions at another node after kill -9, s`, back / 1000, { atMost: 3 });
const since = (name: string, now: ReadonlyMap<string, number>, then: ReadonlyMap<string, number>): void =>
  print(
    `${name}: ${[...now].map(([thread, s]) => `${thread} ${(s - (then.get(thread) ?? 0)).toFixed(2)}`).join(", ")}`,
  );
since("CPU s of the node that has them now", threadSeconds(first.pid), used.first);
since("of that time ready, and without a processor", threadWaits(first.pid), used.waited);
since("CPU s of another", threadSeconds(other.pid), used.other);
print(`CPU s of the agents: ${(cpuMicros(agents.pid as number) / 1e6 - used.agents).toFixed(2)}`);
print(`CPU s of the database: ${(cluster.databaseSeconds() - used.database).toFixed(2)}`);
const secondsOf = (now: ReadonlyMap<string, number>, then: ReadonlyMap<string, number>): number =>
  [...now].reduce((sum, [thread, s]) => sum + s - (then.get(thread) ?? 0), 0);
const spent =
  secondsOf(threadSeconds(first.pid), used.first) +
  secondsOf(threadSeconds(other.pid), used.other) +
  cpuMicros(agents.pid as number) / 1e6 -
  used.agents +
  cluster.databaseSeconds() -
  used.database;
verdict("CPU ms of each name, in all processes", (spent * 1000) / (sessions * each), { atMost: 1.2 });
print(`transactions: ${(await cluster.transactions()) - used.transactions}`);
await stop(agents);
await cluster.stop();
