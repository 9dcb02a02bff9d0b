/** Agents and the edges of one server, which start together, or one after a crash. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { freePorts, root } from "../support/command.ts";
import { freePort } from "../support/connections.ts";
import { eventually } from "../support/eventually.ts";
import { startServer } from "../support/nodes.ts";
import type { ServerNode } from "../support/nodes.ts";
import { startHttpService } from "../support/services.ts";

const edges = 2;

describe("agents at a server with several edges", { timeout: 120_000 }, () => {
  const start = async (agentPort: number, env: Record<string, string> = {}) => {
    const data = mkdtempSync(join(tmpdir(), "postern-edges-agents-"));
    const server = await startServer(["--edges", String(edges), "--data", data], undefined, {
      ...freePorts,
      POSTERN_AGENT_LISTEN: `127.0.0.1:${agentPort}`,
      POSTERN_DRAIN_DELAY: "0",
      ...env,
    });
    const end = async (): Promise<void> => {
      await server.end("SIGKILL");
      rmSync(data, { recursive: true, force: true });
    };
    return { server, end };
  };
  /** Returns a metric of the agent listener at each edge. */
  const atEdges = async (server: ServerNode, metric: string): Promise<number[]> => {
    const { text } = await server.call("GET", "/metrics");
    return Array.from({ length: edges }, (_one, at) =>
      Number(
        new RegExp(`^${metric}\\{(?=.*listener="agent").*edge="${at + 1}".*\\} (\\d+)$`, "m").exec(text)?.[1] ?? 0,
      ),
    );
  };

  it("agents at a server with several edges that dial while the server starts reach every edge", async (test) => {
    const port = await freePort();
    const sockets: Socket[] = [];
    test.after(() => sockets.forEach((socket) => socket.destroy()));
    /** Each dials about every tenth of a second, so that few of them dial in the same moment. */
    const dial = async (): Promise<void> => {
      for (;;) {
        await delay(50 + 100 * Math.random());
        const socket = connect(port, "127.0.0.1");
        sockets.push(socket);
        const isOpen = await once(socket, "connect").then(
          () => true,
          () => false,
        );
        if (isOpen) return;
      }
    };
    const dialled = Array.from({ length: 40 }, dial);
    const { server, end } = await start(port);
    test.after(end);
    await Promise.all(dialled);
    const counts = await eventually(
      () => atEdges(server, "postern_connections_total"),
      ([one = 0, two = 0]) => one + two === dialled.length,
    );
    for (const count of counts) assert.ok(count >= 5, String(counts));
  });

  it("agents at a server with several edges have a session at each edge within 10 seconds after an edge has started again", async (test) => {
    const service = await startHttpService((_request, response) => response.end("served"));
    test.after(() => service.stop());
    const { server, end } = await start(0, { NODE_OPTIONS: `--import=${root}test/support/mortal-threads.ts` });
    test.after(end);
    const agent = await server.agent({ upstream: service.port });
    test.after(() => agent.close());
    const sessions = (): Promise<number[]> => atEdges(server, "postern_connections_open");
    const areSpread = (counts: readonly number[]): boolean => counts.every((count) => count > 0);
    await eventually(sessions, areSpread);
    process.kill(server.pid, "SIGUSR2");
    await eventually(sessions, (counts) => !areSpread(counts));
    await eventually(
      () => server.call("GET", "/metrics"),
      ({ text }) => text.includes(`\npostern_edges ${edges}\n`),
    );
    const since = performance.now();
    await eventually(sessions, areSpread);
    const tookMs = performance.now() - since;
    test.diagnostic(`${Math.round(tookMs)} ms`);
    assert.ok(tookMs < 10_000, `${tookMs} ms`);
  });
});
