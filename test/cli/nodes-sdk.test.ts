/**
 * Servers behind a balancer, restarted one by one while visitors send requests to an agent of the public SDK, which has
 * one session. With POSTERN_SDK_ROUNDS, each server restarts that often.
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
import { databases } from "../support/postgres.ts";
import { skipWithout, skipWithoutPostgres } from "../support/programs.ts";
import { startSdk } from "../support/sdk-process.ts";
import { startHttpService } from "../support/services.ts";
import { Visitor } from "../support/visitor.ts";

const postgres = databases.find(({ name }) => name === "postgres");
const hosts = ["127.0.0.2", "127.0.0.3", "127.0.0.4"];
const host = "sdk.example.com";
const apiKey = "chosen-api-key-of-all-nodes-0123456789";
const authtoken = "chosen-agent-token-of-all-nodes-0123456789";
const rounds = Number(process.env["POSTERN_SDK_ROUNDS"] ?? 1);

describe("servers with an agent of the SDK", { skip: skipWithoutPostgres || skipWithout("haproxy") }, () => {
  if (!postgres) return;

  it(
    "S5: servers with an agent of the SDK, restarted one by one behind a balancer, fail no request while the agent reconnects",
    { timeout: 400_000 * rounds },
    async (test) => {
      const data = mkdtempSync(join(tmpdir(), "postern-nodes-sdk-"));
      test.after(() => rmSync(data, { recursive: true }));
      const place = await postgres.create();
      test.after(() => place.drop());
      const balancer = await startBalancer(hosts);
      test.after(() => balancer.stop());
      const service = await startHttpService((_request, response) => response.end("served"));
      test.after(() => service.stop());
      const start = (address: string): Promise<ServerNode> =>
        startServer(["--cluster", "--data", data], apiKey, {
          ...balancer.env(address),
          POSTERN_DATABASE: place.url,
          POSTERN_BOOTSTRAP_API_KEY: apiKey,
          POSTERN_BOOTSTRAP_AUTHTOKEN: authtoken,
          POSTERN_DRAIN_DELAY: "2",
        });
      const nodes = new Map<string, ServerNode>();
      for (const address of hosts) nodes.set(address, await start(address));
      test.after(() => Promise.all([...nodes.values()].map((node) => node.end("SIGKILL"))));
      const ca = readFileSync(join(data, "ca.pem"), "utf8");
      const agent = await startSdk();
      test.after(() => agent.stop());
      await agent.ask({ name: "connect", port: balancer.ports.agents, ca, token: authtoken });
      await agent.ask({ name: "http", domain: host, target: service.port });
      const sessionsAt = async (node: ServerNode): Promise<number> =>
        Number(/^postern_tunnel_sessions (\d+)$/m.exec((await node.call("GET", "/metrics")).text)?.[1]);

      const over = new AbortController();
      test.after(() => over.abort());
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
      const busy = async (): Promise<void> => {
        const before = visitors.map(({ answers }) => answers);
        while (visitors.some(({ answers }, index) => answers < (before[index] ?? 0) + 20)) await delay(5);
      };
      await busy();
      let moves = 0;
      for (let round = 0; round < rounds; round += 1) {
        for (const address of hosts) {
          const stopping = nodes.get(address) as ServerNode;
          moves += await sessionsAt(stopping);
          const { code, stderr } = await stopping.end("SIGTERM");
          assert.equal(code, 0, stderr);
          await busy();
          const again = await start(address);
          nodes.set(address, again);
          await again.until("/nodes", ({ body }) => (body["nodes"] as readonly unknown[]).length === 3);
          await busy();
        }
      }
      over.abort();
      await Promise.all(asking);
      const failures = visitors.flatMap((visitor) => visitor.failures);
      const answers = visitors.reduce((sum, visitor) => sum + visitor.answers, 0);
      test.diagnostic(JSON.stringify({ answers, moves, failures: failures.length }));
      assert.deepEqual(failures, []);
    },
  );
});
