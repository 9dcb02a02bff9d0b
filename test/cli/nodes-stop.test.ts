/**
 * Servers behind a balancer, restarted one by one while visitors send requests. With POSTERN_TEST_EARLIER, a checkout
 * of an earlier version, they start with that version and restart with this one (`npm run test:upgrade`).
 */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { startBalancer } from "../support/balancer.ts";
import { alpnOf, connectOver, protocols } from "../support/http-client.ts";
import { startServer } from "../support/nodes.ts";
import type { ServerNode } from "../support/nodes.ts";
import { startOurAgent } from "../support/our-agent.ts";
import { databases } from "../support/postgres.ts";
import { skipWithout, skipWithoutPostgres } from "../support/programs.ts";
import { startHttpService } from "../support/services.ts";
import { Visitor } from "../support/visitor.ts";

const postgres = databases.find(({ name }) => name === "postgres");
const hosts = ["127.0.0.2", "127.0.0.3", "127.0.0.4"];
const labels = { app: "shop" };
const host = "shop.example.com";
const apiKey = "chosen-api-key-of-all-nodes-0123456789";
const authtoken = "chosen-agent-token-of-all-nodes-0123456789";

describe(
  "servers that are restarted one by one behind a balancer",
  { timeout: 400_000, skip: skipWithoutPostgres || skipWithout("haproxy") },
  () => {
    if (!postgres) return;

    it(
      "S5: servers that are restarted one by one behind a balancer fail no request, not even one that must not be retried, over both versions of HTTP",
      { timeout: 400_000 },
      async (test) => {
        // The servers share one directory, and therefore one CA.
        const data = mkdtempSync(join(tmpdir(), "postern-nodes-"));
        const place = await postgres.create();
        const balancer = await startBalancer(hosts);
        const service = await startHttpService((_request, response) => response.end("served"));
        test.after(() => service.stop());
        const start = (address: string, checkout?: string): Promise<ServerNode> => {
          const env = {
            ...balancer.env(address),
            POSTERN_DATABASE: place.url,
            POSTERN_BOOTSTRAP_API_KEY: apiKey,
            POSTERN_BOOTSTRAP_AUTHTOKEN: authtoken,
            POSTERN_DRAIN_DELAY: "2",
          };
          return startServer(["--cluster", "--data", data], apiKey, env, checkout === undefined ? {} : { checkout });
        };
        const nodes = new Map<string, ServerNode>();
        const earlier = process.env["POSTERN_TEST_EARLIER"];
        for (const address of hosts) nodes.set(address, await start(address, earlier));
        const ca = readFileSync(join(data, "ca.pem"), "utf8");
        const [first] = [...nodes.values()] as [ServerNode];
        const edge = await first.call("POST", "/edges/https", { hostports: [`${host}:443`] });
        const group = await first.call("POST", "/backends/tunnel_group", { labels });
        const backend = { backend_id: group.body["id"] };
        const route = { match_type: "path_prefix", match: "/", backend };
        const routed = await first.call("POST", `/edges/https/${String(edge.body["id"])}/routes`, route, {
          prefer: "wait=10",
        });
        assert.equal(routed.headers.get("postern-applied"), "true", routed.text);
        const at = { port: balancer.ports.agents, ca, token: authtoken };
        for (const count of [1, 2]) {
          const agent = await startOurAgent(at, { upstream: service.port, labels, agent: { connections: 2 } });
          test.after(() => agent.close());
          for (const node of nodes.values()) {
            await node.until("/tunnels", ({ body }) => (body["tunnels"] as readonly unknown[]).length === 2 * count);
          }
        }

        const over = new AbortController();
        const visitors = protocols.flatMap((protocol) =>
          (["GET", "POST"] as const).map(
            (method) =>
              new Visitor({
                protocol,
                method,
                host,
                text: "served",
                connect: () => connectOver([alpnOf(protocol)], balancer.ports.https, ca, { host }),
                until: over.signal,
                thinkMs: 5,
              }),
          ),
        );
        const asking = visitors.map((visitor) => visitor.run());
        test.after(() => over.abort());
        const busy = async (): Promise<void> => {
          const before = visitors.map(({ answers }) => answers);
          while (visitors.some(({ answers }, index) => answers < (before[index] ?? 0) + 20)) await delay(5);
        };
        await busy();
        for (const address of hosts) {
          const { code, stderr } = await (nodes.get(address) as ServerNode).end("SIGTERM");
          assert.equal(code, 0, stderr);
          await busy();
          const again = await start(address);
          nodes.set(address, again);
          await again.until("/nodes", ({ body }) => (body["nodes"] as readonly unknown[]).length === 3);
          await busy();
        }
        over.abort();
        await Promise.all(asking);
        assert.deepEqual(
          visitors.flatMap(({ failures }) => failures),
          [],
        );
        assert.ok(visitors.every(({ connections }) => connections > 1));
        await Promise.all([...nodes.values()].map((node) => node.end("SIGKILL")));
        await balancer.stop();
        await place.drop();
        rmSync(data, { recursive: true });
      },
    );
  },
);
