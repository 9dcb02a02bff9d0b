import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";
import { makeManualClock } from "../../test/support/clock.ts";
import { silentLog } from "../lib/log.ts";
import { startAgent } from "./agent.ts";
import type { AgentStatus } from "./agent-options.ts";
import { maxPauseMs } from "./backoff.ts";
import { parseUpstream } from "./upstream.ts";

/** An agent whose server closes every connection. `next` resolves with the pause after the next attempt. */
async function startLonely(retryFirst: boolean, giveUpMs?: number) {
  let attempts = 0;
  const server = createServer((socket) => {
    attempts += 1;
    socket.destroy();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const clock = makeManualClock();
  let waiting: (status: AgentStatus & { state: "waiting" }) => void = () => {};
  const agent = startAgent({
    server: { host: "127.0.0.1", port: (server.address() as AddressInfo).port },
    ca: undefined,
    token: "token",
    metadata: "",
    tunnels: [
      {
        name: "one",
        upstream: parseUpstream("1"),
        metadata: "",
        publish: { kind: "url", url: undefined },
        request: undefined,
      },
    ],
    version: "0.0.0",
    clock,
    log: silentLog,
    random: () => 1,
    retryFirst,
    giveUpMs,
    status: (status) => {
      if (status.state === "waiting") waiting(status);
    },
  });
  return {
    agent,
    clock,
    attempts: () => attempts,
    waits: () => new Promise<AgentStatus & { state: "waiting" }>((resolve) => (waiting = resolve)),
    async stop() {
      await agent.close();
      server.close();
      await once(server, "close");
    },
  };
}

describe("the agent", () => {
  it("G5: the agent retries for ever, with pauses that grow up to the maximum", async () => {
    const lonely = await startLonely(true);
    const pauses: number[] = [];
    for (let attempt = 1; attempt <= 9; attempt += 1) {
      const { pauseMs, reason } = await lonely.waits();
      assert.notEqual(reason, "");
      pauses.push(pauseMs);
      assert.equal(lonely.attempts(), attempt);
      lonely.clock.pass(pauseMs);
    }
    assert.deepEqual(pauses, [250, 500, 1000, 2000, 4000, 8000, maxPauseMs, maxPauseMs, maxPauseMs]);
    await lonely.stop();
  });

  it("the agent waits for its pause, and makes no attempt after close", async () => {
    const lonely = await startLonely(true);
    const { pauseMs } = await lonely.waits();
    lonely.clock.pass(pauseMs - 1);
    await lonely.stop();
    lonely.clock.pass(maxPauseMs);
    assert.equal(lonely.attempts(), 1);
    assert.equal(lonely.clock.pending, 0);
  });

  it("the agent gives up when its first connection fails, unless it may retry", async () => {
    const lonely = await startLonely(false);
    assert.equal((await lonely.agent.ended).reason, "unreachable");
    assert.equal(lonely.attempts(), 1);
    await lonely.stop();
  });

  it("the agent gives up after its time limit, and reports until then how long it has been offline", async () => {
    const lonely = await startLonely(true, 1_000);
    const since = lonely.clock.now();
    for (const pauseMs of [250, 500]) {
      const status = await lonely.waits();
      assert.deepEqual([status.pauseMs, status.since], [pauseMs, since]);
      lonely.clock.pass(pauseMs);
    }
    assert.equal((await lonely.agent.ended).reason, "unreachable");
    assert.equal(lonely.attempts(), 3);
    await lonely.stop();
  });
});
