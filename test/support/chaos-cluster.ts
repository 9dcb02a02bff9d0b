/** Three servers behind a balancer, which `postern chaos` stops and starts with shell commands. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { WebSocketServer } from "ws";
import { createServer } from "../../src/lib/http.ts";
import { startBalancer } from "./balancer.ts";
import { commandEnvironment, root, startCommand } from "./command.ts";
import type { Finished } from "./command.ts";
import { startOurAgent } from "./our-agent.ts";
import type { OurAgent } from "./our-agent.ts";

const hosts = { a: "127.0.0.2", b: "127.0.0.3", c: "127.0.0.4" };
const apiKey = "chosen-api-key-of-all-nodes-0123456789";
const authtoken = "chosen-agent-token-of-all-nodes-0123456789";

export interface ChaosCluster {
  readonly agents: readonly OurAgent[];
  /** Calls the API of a node. */
  call(node: keyof typeof hosts, path: string): Promise<Readonly<Record<string, unknown>>>;
  /** Runs `postern chaos` on all nodes. */
  chaos(...more: readonly string[]): Promise<Finished>;
  stop(): Promise<void>;
}

/** @param connections number of sessions of each agent. The agents serve one URL together */
export async function startChaosCluster(database: string, connections: readonly number[]): Promise<ChaosCluster> {
  const directory = mkdtempSync(join(tmpdir(), "postern-chaos-"));
  const balancer = await startBalancer(Object.values(hosts));
  const { ports } = balancer;
  const script = join(directory, "node.sh");
  const env = {
    ...balancer.env("$HOST"),
    POSTERN_DATABASE: database,
    POSTERN_BOOTSTRAP_API_KEY: apiKey,
    POSTERN_BOOTSTRAP_AUTHTOKEN: authtoken,
    POSTERN_DRAIN_DELAY: "2",
  };
  const exported = Object.entries(env).map(([name, value]) => `export ${name}="${value}"\n`);
  writeFileSync(
    script,
    `cd ${directory}
case $NODE in ${Object.entries(hosts)
      .map(([name, host]) => `${name}) HOST=${host};;`)
      .join(" ")} esac
${exported.join("")}
pid=$(cat $NODE.pid 2>/dev/null)
gone() { while kill -0 $pid 2>/dev/null; do sleep 0.05; done; }
case $1 in
start) nohup ${process.execPath} ${join(root, "bin/postern.js")} serve --cluster --data ${directory}/data >>$NODE.log 2>&1 & echo $! >$NODE.pid;;
stop) kill -TERM $pid && gone;;
kill) kill -KILL $pid && gone;;
pause) kill -STOP $pid;;
resume) kill -CONT $pid;;
esac
`,
  );
  const onNode = async (what: string, node: string): Promise<void> => {
    const run = startCommand([], {
      command: ["sh", script, what],
      env: { NODE: node },
    });
    await run.finished;
  };
  const urlOf = (node: keyof typeof hosts): string => `http://${hosts[node]}:${ports.api}`;
  const names = Object.keys(hosts) as (keyof typeof hosts)[];
  for (const name of names) {
    await onNode("start", name);
    while (
      !(await fetch(`${urlOf(name)}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      ))
    )
      await delay(50);
  }
  const ca = join(directory, "data", "ca.pem");
  const service = createServer((request, response) => {
    request.resume().on("end", () => response.end("served"));
  });
  new WebSocketServer({ server: service }).on("connection", (socket) => {
    socket.on("message", (message: Buffer) => socket.send(message.toString()));
    socket.on("error", () => {});
  });
  service.listen(0, "127.0.0.1");
  await once(service, "listening");
  const at = { port: ports.agents, ca: readFileSync(ca, "utf8"), token: authtoken };
  const upstream = (service.address() as AddressInfo).port;
  const labels = { app: "shop" };
  const call: ChaosCluster["call"] = async (node, path) => {
    const headers = { authorization: `Bearer ${apiKey}`, "service-version": "2" };
    return (await (await fetch(`${urlOf(node)}${path}`, { headers })).json()) as Record<string, unknown>;
  };
  const make = async (path: string, body: unknown): Promise<string> => {
    const headers = {
      authorization: `Bearer ${apiKey}`,
      "service-version": "2",
      "content-type": "application/json",
      prefer: "wait=10",
    };
    const response = await fetch(`${urlOf("a")}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
    return ((await response.json()) as { id: string }).id;
  };
  const edge = await make("/edges/https", { hostports: ["shop.example.com:443"] });
  const backend = { backend_id: await make("/backends/tunnel_group", { labels }) };
  await make(`/edges/https/${edge}/routes`, { match_type: "path_prefix", match: "/", backend });
  const agents: OurAgent[] = [];
  let sessions = 0;
  for (const count of connections) {
    agents.push(await startOurAgent(at, { upstream, labels, agent: { connections: count } }));
    sessions += count;
    for (const name of names) {
      while (((await call(name, "/tunnels"))["tunnels"] as unknown[]).length < sessions) await delay(50);
    }
  }
  return {
    agents,
    call,
    chaos(...more) {
      const nodes = names.flatMap((name) => ["--node", `${name}=${urlOf(name)}/readyz`]);
      const commands = ["stop", "start"].flatMap((what) => [`--${what}`, `sh ${script} ${what}`]);
      const place = ["--connect", `127.0.0.1:${ports.https}`, "--ca", ca, "--websocket", "/"];
      return startCommand(["chaos", "https://shop.example.com/", ...nodes, ...commands, ...place, ...more], {
        env: commandEnvironment(),
      }).finished;
    },
    async stop() {
      for (const agent of agents) await agent.close();
      for (const name of names) await onNode("kill", name);
      service.closeAllConnections();
      service.close();
      await balancer.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
