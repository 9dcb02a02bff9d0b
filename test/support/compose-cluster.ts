/**
 * Runs the three servers and the balancer of `deploy/compose.cluster.yaml` as plain processes. The variables are those
 * of the file. The test replaces only what Docker would provide: names of containers, ports, paths of secrets and the
 * database.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { join, relative } from "node:path";
import type { TestContext } from "node:test";
import { freePort, portIs } from "./connections.ts";
import { deployText, deployYaml } from "./deploy-files.ts";
import type { Variables } from "./deploy-files.ts";
import { alpnOf, connectOver, protocols } from "./http-client.ts";
import { sealingKey, startServer } from "./nodes.ts";
import type { InstalledAt, ServerNode } from "./nodes.ts";
import { startOurAgent } from "./our-agent.ts";
import { databases } from "./postgres.ts";
import { findProgram, skipWithout, skipWithoutPostgres } from "./programs.ts";
import { startHttpService } from "./services.ts";
import { Visitor } from "./visitor.ts";

const postgres = databases.find(({ name }) => name === "postgres");
const { services } = deployYaml("compose.cluster.yaml") as {
  readonly services: Readonly<Record<string, { readonly environment?: Variables }>>;
};
const names = Object.keys(services).filter((name) => name.startsWith("postern-"));
const addresses = new Map(names.map((name, at) => [name, `127.0.0.${at + 2}`]));
const host = "shop.localhost";

/** The `skip` option of tests that start the cluster. */
export const skipWithoutCluster: string | false = skipWithoutPostgres || skipWithout("haproxy");

/** Where the servers run. */
export interface ClusterPlace extends InstalledAt {
  /** An existing folder for data and secrets, by its name for the servers. */
  readonly folder: string;
  /** User ID of the servers, if it differs from the user of the test. */
  readonly user?: number;
}

/** Publishes a service through the cluster, stops a server, and asserts that no request was lost. */
export async function stopServerOfCluster(test: TestContext, place: ClusterPlace): Promise<void> {
  assert.equal(names.length, 3);
  assert.ok(postgres);
  const { folder, user, ...installed } = place;
  const outside = mkdtempSync(join(place.root ?? "/", folder, "compose-"));
  /** The same folder, by its name for the servers. */
  const directory = join("/", relative(place.root ?? "/", outside));
  const owned = (path: string): void => {
    if (user !== undefined) chownSync(path, user, user);
  };
  owned(outside);
  const secrets: Variables = {
    "sealing-key": sealingKey,
    "bootstrap-api-key": "chosen-api-key-of-the-cluster-0123456789",
    "bootstrap-authtoken": "chosen-agent-token-of-the-cluster-0123456789",
  };
  for (const [name, value] of Object.entries(secrets)) {
    writeFileSync(join(outside, name), `${value}\n`, { mode: 0o600 });
    owned(join(outside, name));
  }
  const database = await postgres.create();
  const databaseUrl = place.root === undefined ? database.url : await overTcp(test, database.url);
  const ports = new Map<string, number>();
  for (const port of ["8443", "8080", "4443", "4700"]) ports.set(port, await freePort());
  const portOf = (port: string): number => ports.get(port) as number;

  const environmentOf = (name: string): Record<string, string> => {
    const address = addresses.get(name) as string;
    const replaced = Object.entries(services[name]?.environment ?? {}).map(([variable, value]) => {
      if (variable === "POSTERN_DATABASE") return [variable, databaseUrl];
      if (variable === "POSTERN_TRUSTED_PROXIES") return [variable, "127.0.0.1"];
      if (variable === "POSTERN_PEER_LISTEN") return [variable, `${address}:0`];
      const text = value
        .replace("/run/secrets", directory)
        .replace(new RegExp(`^${name}$`), address)
        .replace(/^\$\{\w+:-(.*)\}$/, "$1")
        .replace(/^:(\d+)$/, (_, port: string) => `${address}:${portOf(port)}`);
      return [variable, text];
    });
    return Object.fromEntries(replaced) as Record<string, string>;
  };
  const nodes: ServerNode[] = [];
  for (const name of names) {
    mkdirSync(join(outside, name), { mode: 0o700 });
    owned(join(outside, name));
    const words = ["--data", join(directory, name)];
    nodes.push(await startServer(words, secrets["bootstrap-api-key"], environmentOf(name), installed));
  }
  const [first] = nodes as [ServerNode];

  const configuration = deployText("haproxy.cfg")
    .replaceAll(/postern-[abc]/g, (name) => addresses.get(name) as string)
    .replaceAll(/bind :(\d+)/g, (_, port: string) => `bind 127.0.0.1:${portOf(port)}`)
    .replaceAll(/(:|check port )(8443|8080|4443|4700)\b/g, (_, before: string, port: string) => before + portOf(port));
  const file = join(outside, "haproxy.cfg");
  writeFileSync(file, configuration);
  const balancer = spawn(findProgram("haproxy") as string, ["-db", "-q", "-f", file], { stdio: "ignore" });
  const balancerEnded = once(balancer, "close");
  test.after(async () => {
    balancer.kill("SIGTERM");
    await balancerEnded;
    await Promise.all(nodes.map((node) => node.end("SIGKILL")));
    await database.drop();
    rmSync(outside, { recursive: true });
  });
  await Promise.race([
    portIs("open", portOf("8443")),
    balancerEnded.then(() => Promise.reject(new Error("HAProxy has ended"))),
  ]);

  const service = await startHttpService((request, response) =>
    response.end(String(request.headers["x-forwarded-for"])),
  );
  test.after(() => service.stop());
  const { ca } = first.agents;
  const token = secrets["bootstrap-authtoken"] as string;
  const agent = await startOurAgent(
    { port: portOf("4443"), ca, token },
    { upstream: service.port, url: `https://${host}`, agent: { connections: 2 } },
  );
  test.after(() => agent.close());
  for (const node of nodes) {
    await node.until("/tunnels", ({ body }) => (body["tunnels"] as readonly unknown[]).length > 0);
  }

  const over = new AbortController();
  test.after(() => over.abort());
  const visitors = protocols.map(
    (protocol) =>
      new Visitor({
        protocol,
        method: "POST",
        host,
        // The balancer sends the visitor's address in its PROXY protocol header.
        text: "127.0.0.1",
        connect: () => connectOver([alpnOf(protocol)], portOf("8443"), ca, { host }),
        until: over.signal,
        thinkMs: 5,
      }),
  );
  const asking = visitors.map((visitor) => visitor.run());
  const answers = async (): Promise<void> => {
    const before = visitors.map((visitor) => visitor.answers);
    while (visitors.some((visitor, at) => visitor.answers < (before[at] ?? 0) + 20)) {
      await new Promise((resume) => setTimeout(resume, 5));
    }
  };
  await answers();
  process.kill(first.pid, "SIGTERM");
  await first.until("/readyz", ({ status }) => status === 503);
  // The server drains but is still alive.
  assert.equal((await first.call("GET", "/healthz")).status, 200);
  await answers();
  const { code, stderr } = await first.end("SIGCONT");
  assert.equal(code, 0, stderr);
  await answers();
  over.abort();
  await Promise.all(asking);
  assert.deepEqual(
    visitors.flatMap(({ failures }) => failures),
    [],
  );
}

/** Returns a URL by which programs with another root reach a database on a Unix socket. */
async function overTcp(test: TestContext, url: string): Promise<string> {
  const reached = new URL(url);
  const folder = reached.searchParams.get("host");
  if (folder === null) return url;
  const socket = join(folder, `.s.PGSQL.${reached.port || "5432"}`);
  const relay = createServer((inner) => {
    const outer = connect(socket);
    for (const [from, to] of [
      [inner, outer],
      [outer, inner],
    ] as const) {
      from.on("error", () => to.destroy());
      from.pipe(to);
    }
  });
  relay.listen(0, "127.0.0.1");
  await once(relay, "listening");
  test.after(() => relay.close());
  reached.searchParams.delete("host");
  reached.host = `127.0.0.1:${(relay.address() as AddressInfo).port}`;
  return reached.href;
}
