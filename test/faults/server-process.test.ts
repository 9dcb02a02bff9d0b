/**
 * The server as a process, killed, drained and suspended at the n-th chunk of bytes between server and agent. n rises
 * until nothing happens. `agent-process` tests the agent's end.
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { freePorts } from "../support/command.ts";
import { freePort } from "../support/connections.ts";
import { eventually } from "../support/eventually.ts";
import { startServer } from "../support/nodes.ts";
import type { ServerNode } from "../support/nodes.ts";
import { startOurAgent } from "../support/our-agent.ts";
import type { OurAgent } from "../support/our-agent.ts";
import { startRelay } from "../support/relay.ts";
import type { Relay } from "../support/relay.ts";
import { startHttpService } from "../support/services.ts";
import type { HttpService } from "../support/services.ts";

const large = "x".repeat(80_000);
const name = "served.localhost";

describe("a server's process", { timeout: 300_000 }, () => {
  const directory = mkdtempSync(join(tmpdir(), "postern-server-process-"));
  const posted: string[] = [];
  const agents: OurAgent[] = [];
  let env: Record<string, string>;
  let server: ServerNode;
  let service: HttpService;
  let relay: Relay;
  before(async () => {
    const [https, agent] = [await freePort(), await freePort()];
    env = {
      ...freePorts,
      POSTERN_HTTPS_LISTEN: `127.0.0.1:${https}`,
      POSTERN_AGENT_LISTEN: `127.0.0.1:${agent}`,
      POSTERN_BOOTSTRAP_AUTHTOKEN: "chosen-authtoken-of-the-server-0123456789",
      POSTERN_DRAIN_DELAY: "0",
    };
    service = await startHttpService((request, response) => {
      request.resume().on("end", () => {
        if (request.method === "POST") posted.push(request.url ?? "");
        response.end(large);
      });
    });
    relay = await startRelay(agent);
    await start();
  });
  after(async () => {
    for (const agent of agents) await agent.close();
    relay.stop();
    await server.end("SIGKILL");
    await service.stop();
    rmSync(directory, { recursive: true });
  });

  async function start(): Promise<void> {
    server = await startServer(["--data", directory], "", env);
  }
  /** Starts a separate agent with short pauses. */
  async function agentOf(): Promise<OurAgent> {
    const agent = await startOurAgent(
      { port: relay.port, ca: server.agents.ca, token: server.agents.token },
      {
        upstream: service.port,
        url: `https://${name}`,
        offline: true,
        agent: {
          connections: 1,
          retryFirst: true,
          random: () => 0,
          heartbeatIntervalMs: 100,
          heartbeatToleranceMs: 400,
          answerMs: 500,
          connect: { timeoutMs: 500 },
          finishMs: 0,
        },
      },
    );
    agents.push(agent);
    return agent;
  }
  const visit = (path: string, method: string) =>
    server
      .ask("h1", {
        host: `${name}:${server.httpsPort}`,
        serverName: name,
        path,
        method,
        ...(method === "POST" && { body: large }),
      })
      .then(({ status, text }) => ({ status, isWhole: text === large }))
      .catch(() => ({ status: 0, isWhole: false }));
  async function serves(what: string): Promise<void> {
    const seen = await eventually(
      () => visit("/", "GET"),
      ({ status }) => status === 200,
    );
    assert.deepEqual(seen, { status: 200, isWhole: true }, what);
  }
  for (const [signal, loses] of [
    ["SIGKILL", true],
    ["SIGTERM", false],
  ] as const) {
    it(`a server's process that gets ${signal} while an agent connects or a request is in progress, at any step, ${loses ? "loses at most that" : "answers it whole"}, and the agent returns`, async () => {
      let step = 1;
      // Each step starts a server, and chunks in the middle of a body differ little.
      for (; ; step = 2 * step + 2) {
        const current = server;
        relay.breakAt(step, () => void process.kill(current.pid, signal));
        const agent = await agentOf();
        await eventually(() => relay.hasBroken || agent.url !== "", Boolean);
        const path = `/${signal}/${step}`;
        const isAsked = !relay.hasBroken;
        const { status, isWhole } = isAsked ? await visit(path, "POST") : { status: 0, isWhole: false };
        const { hasBroken } = relay;
        relay.breakAt(Infinity, () => {});
        if (isAsked && !(loses && hasBroken)) assert.deepEqual({ status, isWhole }, { status: 200, isWhole: true });
        assert.ok(posted.filter((one) => one === path).length <= 1, `step ${step} was sent twice`);
        if (hasBroken) {
          await current.end(signal);
          await start();
        }
        await agent.online();
        await serves(`after step ${step}`);
        assert.equal(agent.url, `https://${name}:${server.httpsPort}`, `step ${step}`);
        await agent.close();
        if (!hasBroken) break;
      }
      assert.ok(step > 12, `only ${step} steps`);
    });
  }

  it("a server's process that is suspended past the heartbeat loses its agent, which returns to the same URL after it resumes", async () => {
    const agent = await agentOf();
    await agent.online();
    const { url } = agent;
    process.kill(server.pid, "SIGSTOP");
    await eventually(
      () => agent.statuses.at(-1)?.state,
      (state) => state === "waiting",
    );
    process.kill(server.pid, "SIGCONT");
    await agent.online(2);
    await serves("after the stop");
    assert.equal(agent.url, url);
    await agent.close();
  });
});
