/** The line between agent and server breaks at the n-th chunk of bytes. n rises until nothing breaks. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { eventually } from "../support/eventually.ts";
import { startPlatform } from "../support/platform.ts";
import type { TestPlatform } from "../support/platform.ts";
import { startRelay } from "../support/relay.ts";
import type { Fault, Relay } from "../support/relay.ts";
import { startHttpService } from "../support/services.ts";
import type { HttpService } from "../support/services.ts";

const large = "x".repeat(80_000);

describe("an agent whose line breaks", { timeout: 120_000 }, () => {
  const posted: string[] = [];
  let platform: TestPlatform;
  let service: HttpService;
  let relay: Relay;
  before(async () => {
    platform = await startPlatform({ drainMs: 50 });
    relay = await startRelay(platform.agentPort);
    service = await startHttpService((request, response) => {
      if (request.method === "POST") posted.push(request.url ?? "");
      request.resume().on("end", () => response.end(large));
    });
  });
  after(async () => {
    relay.stop();
    await platform.stop();
    await service.stop();
  });

  const start = (name: string) =>
    platform.startAgent({
      upstream: service.port,
      url: `https://${name}.localhost`,
      offline: true,
      agent: {
        server: { host: "127.0.0.1", port: relay.port },
        connections: 1,
        retryFirst: true,
        random: () => 0,
        heartbeatIntervalMs: 100,
        heartbeatToleranceMs: 200,
        answerMs: 500,
        connect: { timeoutMs: 500 },
        finishMs: 0,
      },
    });
  const visit = (agent: { readonly url: string }, path: string, method: string) =>
    platform
      .request(`${agent.url}${path}`, { method, ...(method === "POST" && { body: large }) })
      .then(({ status, text }) => ({ status, isWhole: text === large }))
      .catch(() => ({ status: 0, isWhole: false }));

  for (const fault of ["cut", "stall"] as const satisfies readonly Fault[]) {
    it(`an agent whose line breaks (${fault}) while it connects, at any step, finally gets online`, async () => {
      let step = 1;
      for (; ; step += 1) {
        relay.breakAt(step, fault);
        const agent = await start(`${fault}-coming`);
        await agent.online();
        const { hasBroken } = relay;
        const seen = await eventually(
          () => visit(agent, "/", "GET"),
          ({ status }) => status === 200,
        );
        assert.deepEqual(seen, { status: 200, isWhole: true }, `step ${step}`);
        await agent.close();
        if (!hasBroken) break;
      }
      assert.ok(step > 5, `only ${step} steps`);
    });

    it(`an agent whose line breaks (${fault}) during a request loses at most that request, and sends none twice`, async () => {
      const agent = await start(`${fault}-asked`);
      await agent.online();
      let step = 1;
      for (; ; step += 1) {
        relay.breakAt(step, fault);
        const path = `/${fault}/${step}`;
        const { status, isWhole } = await visit(agent, path, "POST");
        const { hasBroken } = relay;
        // A response that is reported as whole must be whole.
        if (status === 200) assert.ok(isWhole || hasBroken, `step ${step}`);
        assert.ok(posted.filter((one) => one === path).length <= 1, `step ${step} was sent twice`);
        const next = await eventually(
          () => visit(agent, "/", "GET"),
          (seen) => seen.status === 200 && seen.isWhole,
        );
        assert.deepEqual(next, { status: 200, isWhole: true }, `after step ${step}`);
        if (!hasBroken) break;
        // Chunks in the middle of a body differ little.
        if (step > 4) step += Math.floor(step / 2);
      }
      assert.ok(step > 5, `only ${step} steps`);
      await agent.close();
    });
  }
});
