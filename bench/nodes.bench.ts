/** Several nodes on one PostgreSQL: propagation of a write to the others, write throughput, and the death of a node. */
import { setTimeout as delay } from "node:timers/promises";
import { api } from "./support/api-client.ts";
import { startCluster } from "./support/cluster.ts";
import { startAgent, startService } from "./support/postern.ts";
import type { PosternServer } from "./support/postern.ts";
import { quantile, verdict } from "./support/report.ts";
import { client } from "./support/requests.ts";
import { stop } from "./support/system.ts";

interface Named {
  readonly id: string;
}

const cluster = await startCluster(3);
const { nodes, startNode } = cluster;
const first = nodes[0] as PosternServer;
const print = (text: string): void => void process.stdout.write(`${text}\n`);
await propagation();
await writes();
await recovery();
await cluster.stop();

/** Measures from the response of a write until the edges of both other nodes apply it. */
async function propagation(): Promise<void> {
  const post = (path: string, body: object): Promise<Named> => api<Named>(first.apiUrl, "POST", path, body);
  const backend = await post("/backends/tunnel_group", { labels: { bench: "none" } });
  const policy = await post("/ip_policies", {});
  const edge = await post("/edges/https", { hostports: ["bench.localhost:443"] });
  await post(`/edges/https/${edge.id}/routes`, {
    match_type: "path_prefix",
    match: "/",
    backend: { backend_id: backend.id },
    ip_restriction: { ip_policy_ids: [policy.id] },
  });
  const visitors = nodes.slice(1).map((node) => {
    const visitor = client({ name: "postern", port: node.httpsPort, serverName: "bench.localhost" }, 1);
    const status = async (): Promise<number | undefined> => (await visitor.send({ path: "/" })).response.statusCode;
    return { ...visitor, until: async (wanted: number) => void (await sees(status, wanted)) };
  });
  for (const { until } of visitors) await until(403);
  const took: number[] = [];
  for (let turn = 0; turn < 200; turn += 1) {
    const rule = await post("/ip_policy_rules", { ip_policy_id: policy.id, cidr: "127.0.0.1/32", action: "allow" });
    const began = performance.now();
    // 403 without the rule. With it, the request reaches the empty backend.
    await Promise.all(visitors.map(({ until }) => until(503).then(() => took.push(performance.now() - began))));
    await api(first.apiUrl, "DELETE", `/ip_policy_rules/${rule.id}`);
    await Promise.all(visitors.map(({ until }) => until(403)));
  }
  for (const { close } of visitors) close();
  print("\nfrom a write's answer to its effect at another node, three nodes, ms");
  verdict("p50", quantile(took, 0.5), { atMost: 10 });
  verdict("p99", quantile(took, 0.99), { atMost: 50 });
}

/** Repeats the request after a millisecond. Without a pause, it would take CPU time from the measured processes. */
async function sees(status: () => Promise<number | undefined>, wanted: number): Promise<void> {
  while ((await status()) !== wanted) await delay(1);
}

/** Measures durable writes of independent objects, 64 at a time, distributed over the nodes. */
async function writes(): Promise<void> {
  print("\ndurable writes per second, 64 at once");
  const rates: number[] = [];
  for (const count of [1, 2, 3]) {
    const began = performance.now();
    const endsAt = began + 5_000;
    let written = 0;
    const work = async (_one: unknown, at: number): Promise<void> => {
      const node = nodes[at % count] as PosternServer;
      for (; performance.now() < endsAt; written += 1) await api(node.apiUrl, "POST", "/ip_policies", {});
    };
    await Promise.all(Array.from({ length: 64 }, work));
    rates.push((written / (performance.now() - began)) * 1000);
    print(`  at ${count} of the nodes: ${(rates.at(-1) as number).toFixed(0)}`);
  }
  const [alone = 0, , all = 0] = rates;
  verdict("three writing nodes / one", all / alone, { atLeast: 0.5 });
}

/** Measures from `kill -9` of the node with an agent's only session until another node responds. */
async function recovery(): Promise<void> {
  const service = await startService();
  const took: number[] = [];
  for (let turn = 0; turn < 3; turn += 1) {
    const doomed = await startNode();
    const name = `recovery-${turn}`;
    const servers = [doomed.agentPort, first.agentPort];
    const agent = await startAgent(first, service.port, name, servers, ["--connections", "1"]);
    const visitor = client(
      { name: "postern", port: (nodes[1] as PosternServer).httpsPort, serverName: `${name}.localhost` },
      1,
    );
    const status = (): Promise<number | undefined> =>
      visitor.send({ path: "/" }).then(
        ({ response }) => response.statusCode,
        () => undefined,
      );
    await sees(status, 200);
    const began = performance.now();
    doomed.child.kill("SIGKILL");
    // The dead node's queues may still contain responses.
    await new Promise((resolve) => doomed.child.once("exit", resolve));
    await sees(status, 200);
    took.push(performance.now() - began);
    visitor.close();
    await stop(agent);
  }
  await stop(service.child);
  print("\nan agent with one session, after kill -9 of its node");
  verdict("slowest of 3, s", Math.max(...took) / 1000, { atMost: 3 });
}
