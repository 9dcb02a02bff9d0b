/** Three servers behind a balancer, which `postern chaos` stops, kills, pauses and cuts off with shell commands. */
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
import { freePort } from "./connections.ts";
import { startOurAgent } from "./our-agent.ts";
import type { OurAgent } from "./our-agent.ts";
import { makePartition } from "./partition.ts";
import type { Part } from "./partition.ts";
import { startPostgres } from "./postgres.ts";
import type { PostgresServer } from "./postgres.ts";

const hosts = { a: "127.0.0.2", b: "127.0.0.3", c: "127.0.0.4" };
/** Addresses at which the servers reach each other. */
const peerHosts = { a: "127.0.0.12", b: "127.0.0.13", c: "127.0.0.14" };
const apiKey = "chosen-api-key-of-all-nodes-0123456789";
const authtoken = "chosen-agent-token-of-all-nodes-0123456789";

export interface ChaosCluster {
  readonly agents: readonly OurAgent[];
  /** Calls the API of a node. */
  call(node: keyof typeof hosts, path: string): Promise<Readonly<Record<string, unknown>>>;
  /** Runs `postern chaos` on all nodes with these faults. `cut` faults are `database` and `peers`. */
  chaos(faults: readonly ("stop" | "kill" | "pause" | "cut")[], ...more: readonly string[]): Promise<Finished>;
  stop(): Promise<void>;
}

/** @param connections number of sessions of each agent. The agents serve one URL together */
export async function startChaosCluster(connections: readonly number[]): Promise<ChaosCluster> {
  const directory = mkdtempSync(join(tmpdir(), "postern-chaos-"));
  const balancer = await startBalancer(Object.values(hosts));
  const { ports } = balancer;
  const names = Object.keys(hosts) as (keyof typeof hosts)[];
  const database = (await startPostgres({ port: await freePort(), isLasting: false })) as PostgresServer;
  const partition = makePartition(names, (node) => pidIn(join(directory, `${node}.pid`)));
  const peerPort = await freePort();
  const databasePorts = new Map<string, number>();
  for (const name of names) {
    databasePorts.set(name, await partition.databaseFor(name, { host: "127.0.0.1", port: database.port }));
    await partition.peersOf(name, { host: hosts[name], port: peerPort }, peerHosts[name]);
  }
  const control = createServer((request, response) => {
    const [, what = "", node = "", part = ""] = (request.url ?? "").split("/");
    if (what === "cut") partition.cut(node, part as Part);
    else partition.heal(node, part as Part);
    response.end();
  });
  control.listen(0, "127.0.0.1");
  await once(control, "listening");
  const controlUrl = `http://127.0.0.1:${(control.address() as AddressInfo).port}`;
  const script = join(directory, "node.sh");
  const env = {
    ...balancer.env("$HOST"),
    POSTERN_DATABASE: "postgres://postgres@127.0.0.1:$DATABASE_PORT/postgres",
    POSTERN_PEER_LISTEN: `$HOST:${peerPort}`,
    POSTERN_PEER_ADDRESS: "$PEER_HOST",
    POSTERN_BOOTSTRAP_API_KEY: apiKey,
    POSTERN_BOOTSTRAP_AUTHTOKEN: authtoken,
    POSTERN_DRAIN_DELAY: "2",
  };
  const exported = Object.entries(env).map(([name, value]) => `export ${name}="${value}"\n`);
  const places = names.map(
    (name) =>
      `${name}) HOST=${hosts[name]} PEER_HOST=${peerHosts[name]} DATABASE_PORT=${databasePorts.get(name) as number};;`,
  );
  writeFileSync(
    script,
    `cd ${directory}
case $NODE in ${places.join(" ")} esac
${exported.join("")}
pid=$(cat $NODE.pid 2>/dev/null)
gone() { while kill -0 $pid 2>/dev/null; do sleep 0.05; done; }
ask() { ${process.execPath} -e "fetch('${controlUrl}/$1/$NODE/$2')"; }
case $1 in
start) nohup ${process.execPath} ${join(root, "bin/postern.js")} serve --cluster --data ${directory}/data >>$NODE.log 2>&1 & echo $! >$NODE.pid;;
stop) kill -TERM $pid && gone;;
kill) kill -KILL $pid && gone;;
pause) kill -STOP $pid;;
resume) kill -CONT $pid;;
cut | heal) ask $1 $2;;
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
    chaos(faults, ...more) {
      const nodes = names.flatMap((name) => ["--node", `${name}=${urlOf(name)}/readyz?of=all`]);
      const run = (what: string): string => `sh ${script} ${what}`;
      const commands = {
        stop: ["--stop", run("stop"), "--start", run("start")],
        kill: ["--kill", run("kill"), "--start", run("start")],
        pause: ["--pause", run("pause"), "--resume", run("resume")],
        cut: ["database", "peers"].flatMap((part) => [
          "--cut",
          `${part}=${run(`cut ${part}`)}`,
          "--heal",
          `${part}=${run(`heal ${part}`)}`,
        ]),
      };
      const place = ["--connect", `127.0.0.1:${ports.https}`, "--ca", ca, "--websocket", "/"];
      const all = [...nodes, ...faults.flatMap((one) => commands[one]), ...place, ...more];
      return startCommand(["chaos", "https://shop.example.com/", ...all], {
        env: commandEnvironment({ POSTERN_API_URL: `http://127.0.0.1:${ports.api}`, POSTERN_API_KEY: apiKey }),
      }).finished;
    },
    async stop() {
      for (const agent of agents) await agent.close();
      for (const name of names) await onNode("kill", name);
      service.closeAllConnections();
      service.close();
      await balancer.stop();
      control.close();
      partition.stop();
      await database.remove();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function pidIn(file: string): number | undefined {
  try {
    return Number(readFileSync(file, "utf8"));
  } catch {
    return undefined;
  }
}
