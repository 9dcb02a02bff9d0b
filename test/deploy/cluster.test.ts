/**
 * The three servers and the balancer of `deploy/compose.cluster.yaml` as plain processes. The variables are those of the
 * file; only what Docker would provide is replaced: names of containers, ports, paths of secrets and the database.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { freePort, portIs } from "../support/connections.ts";
import { deployText, deployYaml } from "../support/deploy-files.ts";
import type { Variables } from "../support/deploy-files.ts";
import { alpnOf, connectOver, protocols } from "../support/http-client.ts";
import { sealingKey, startServer } from "../support/nodes.ts";
import type { ServerNode } from "../support/nodes.ts";
import { startOurAgent } from "../support/our-agent.ts";
import { databases } from "../support/postgres.ts";
import { findProgram, skipWithout, skipWithoutPostgres } from "../support/programs.ts";
import { startHttpService } from "../support/services.ts";
import { Visitor } from "../support/visitor.ts";

const postgres = databases.find(({ name }) => name === "postgres");
const { services } = deployYaml("compose.cluster.yaml") as {
  readonly services: Readonly<Record<string, { readonly environment?: Variables }>>;
};
const names = Object.keys(services).filter((name) => name.startsWith("postern-"));
const addresses = new Map(names.map((name, at) => [name, `127.0.0.${at + 2}`]));
const host = "shop.localhost";

describe(
  "the cluster of deploy/compose.cluster.yaml",
  { timeout: 120_000, skip: skipWithoutPostgres || skipWithout("haproxy") },
  () => {
    if (!postgres) return;

    it("S5: the Compose cluster serves an agent's URL through the balancer, and loses no request while a server drains and stops", async (test) => {
      assert.equal(names.length, 3);
      const directory = mkdtempSync(join(tmpdir(), "compose-"));
      const secrets: Variables = {
        "sealing-key": sealingKey,
        "bootstrap-api-key": "chosen-api-key-of-the-cluster-0123456789",
        "bootstrap-authtoken": "chosen-agent-token-of-the-cluster-0123456789",
      };
      for (const [name, value] of Object.entries(secrets)) writeFileSync(join(directory, name), `${value}\n`);
      const place = await postgres.create();
      const ports = new Map<string, number>();
      for (const port of ["8443", "8080", "4443", "4700"]) ports.set(port, await freePort());
      const portOf = (port: string): number => ports.get(port) as number;

      const environmentOf = (name: string): Record<string, string> => {
        const address = addresses.get(name) as string;
        const replaced = Object.entries(services[name]?.environment ?? {}).map(([variable, value]) => {
          if (variable === "POSTERN_DATABASE") return [variable, place.url];
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
        const data = join(directory, name);
        mkdirSync(data, { mode: 0o700 });
        nodes.push(await startServer(["--data", data], secrets["bootstrap-api-key"], environmentOf(name)));
      }
      const [first] = nodes as [ServerNode];

      const configuration = deployText("haproxy.cfg")
        .replaceAll(/postern-[abc]/g, (name) => addresses.get(name) as string)
        .replaceAll(/bind :(\d+)/g, (_, port: string) => `bind 127.0.0.1:${portOf(port)}`)
        .replaceAll(
          /(:|check port )(8443|8080|4443|4700)\b/g,
          (_, before: string, port: string) => before + portOf(port),
        );
      const file = join(directory, "haproxy.cfg");
      writeFileSync(file, configuration);
      const balancer = spawn(findProgram("haproxy") as string, ["-db", "-q", "-f", file], { stdio: "ignore" });
      const balancerEnded = once(balancer, "close");
      test.after(async () => {
        balancer.kill("SIGTERM");
        await balancerEnded;
        await Promise.all(nodes.map((node) => node.end("SIGKILL")));
        await place.drop();
        rmSync(directory, { recursive: true });
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
            // The balancer names the visitor's address in its PROXY protocol header.
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
      // It drains, and is alive.
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
    });
  },
);
