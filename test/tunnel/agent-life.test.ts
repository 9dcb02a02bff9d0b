/** Our own agent as `postern http` runs it, with a server that the test controls. */
import assert from "node:assert/strict";
import { afterEach, before, describe, it } from "node:test";
import { startAgent as startRealAgent } from "../../src/agent/agent.ts";
import { maxPauseMs } from "../../src/agent/backoff.ts";
import { Refusal } from "../../src/lib/errors.ts";
import { silentLog } from "../../src/lib/log.ts";
import type { AgentSession, BindRequest } from "../../src/tunnel/server-hooks.ts";
import { makeManualClock } from "../support/clock.ts";
import { eventually } from "../support/eventually.ts";
import { startOurAgent } from "../support/our-agent.ts";
import type { OurAgent, OurAgentOptions } from "../support/our-agent.ts";
import { startRelay } from "../support/relay.ts";
import { makeAuthority, Register, rightToken, startTunnelServer } from "../support/tunnel-server.ts";
import type { Authority, TunnelServer } from "../support/tunnel-server.ts";

/** Gives a name to only one session, like servers that did not know agents with several sessions. */
class OlderRegister extends Register {
  override bind(session: AgentSession, id: string, request: BindRequest) {
    const holder = [...this.tunnels.values()].find((one) => one !== session);
    if (holder && request.hostname !== "") throw new Refusal("agent_name_taken");
    return super.bind(session, id, request);
  }
}

describe("the life of an agent", { timeout: 60_000 }, () => {
  let authority: Authority;
  const stops: (() => Promise<unknown>)[] = [];
  before(async () => {
    authority = await makeAuthority();
  });
  afterEach(async () => {
    for (const stop of stops.splice(0).reverse()) await stop();
  });

  async function serve(register: Register, port = 0): Promise<TunnelServer> {
    const server = await startTunnelServer({ authority, register, port });
    stops.push(() => server.stop());
    return server;
  }
  async function startAgent({ port }: { readonly port: number }, options: OurAgentOptions): Promise<OurAgent> {
    const agent = await startOurAgent({ port, ca: authority.ca.certificatePem, token: rightToken }, options);
    stops.push(() => agent.close());
    return agent;
  }

  it("the life of an agent at a server that does not know agents with several sessions continues with one, and logs it once", async () => {
    const register = new OlderRegister();
    const server = await serve(register);
    const warnings: string[] = [];
    const log = { ...silentLog, warn: (event: string) => void warnings.push(event) };
    const agent = await startAgent(server, {
      upstream: 1,
      url: "https://one.example.test",
      agent: { connections: 3, log },
    });
    const closed = (): number => register.events.filter((event) => event.startsWith("closed")).length;
    await register.until(() => closed() === 2);
    assert.deepEqual(warnings, ["one session only"]);
    const left = (): number => server.sockets.filter(({ destroyed }) => !destroyed).length;
    await eventually(left, (count) => count === 1);
    // The agent reconnects after a loss, and does not try several sessions again.
    for (const socket of server.sockets) socket.destroy();
    await agent.online(2);
    assert.deepEqual(warnings, ["one session only"]);
    assert.equal(left(), 1);
  });

  it("the life of an agent of a laptop that slept continues at the same URL, after its dead connection is detected", async () => {
    const server = await serve(new Register());
    const relay = await startRelay(server.port);
    stops.push(async () => relay.stop());
    const clock = makeManualClock();
    const agent = await startAgent(relay, {
      upstream: 1,
      url: "https://asleep.example.test",
      agent: { clock, connections: 1, random: () => 1 },
    });
    const { url } = agent;
    // The wall clock advances during the sleep, and the connection ends without a message.
    relay.silence();
    clock.step(8 * 60 * 60 * 1000);
    await eventually(
      () => {
        clock.pass(1_000);
        return agent.statuses.at(-1)?.state;
      },
      (state) => state === "waiting",
    );
    const waiting = agent.statuses.at(-1);
    assert.ok(waiting?.state === "waiting" && waiting.since <= clock.now());
    clock.pass(waiting.pauseMs);
    await agent.online(2);
    assert.equal(agent.url, url);
  });

  it("the life of an agent whose line is cut every hour, for 24 hours, continues at one URL, and retains nothing of old connections", async () => {
    const server = await serve(new Register());
    const clock = makeManualClock();
    const agent = await startAgent(server, {
      upstream: 1,
      url: "https://day.example.test",
      agent: { clock, connections: 1, random: () => 1, heartbeatIntervalMs: 60_000 },
    });
    const { url } = agent;
    const pending = clock.pending;
    const listening = countListeners();
    for (let hour = 1; hour <= 24; hour += 1) {
      clock.step(60 * 60 * 1000);
      // Long enough for the loss to count as the first of its series.
      clock.pass(11_000);
      for (const socket of server.sockets) socket.destroy();
      const waiting = await eventually(
        () => agent.statuses.at(-1),
        (status) => status?.state === "waiting",
      );
      assert.ok(waiting?.state === "waiting" && waiting.since <= clock.now(), `hour ${hour}`);
      assert.ok(waiting.pauseMs <= 250, `hour ${hour}: ${waiting.pauseMs} ms`);
      clock.pass(waiting.pauseMs);
      await agent.online(hour + 1);
      assert.deepEqual([agent.url, clock.pending], [url, pending], `hour ${hour}`);
    }
    assert.ok(listening.now() < 10, `${listening.now()} listeners are left`);
    listening.stop();
  });

  it("the life of an agent without a server for 24 hours consists of attempts at the longest pause, and retains nothing of them", async () => {
    const hourMs = 60 * 60 * 1000;
    const clock = makeManualClock();
    const listening = countListeners();
    let attempts = 0;
    let waits: (pauseMs: number) => void = () => {};
    const refused = { host: "127.0.0.1", port: 1 };
    const agent = startRealAgent({
      server: refused,
      // No attempt opens a connection, because there is no proxy at the configured path.
      connect: {
        proxy() {
          attempts += 1;
          throw new Error("no way");
        },
      },
      ca: authority.ca.certificatePem,
      token: rightToken,
      metadata: "",
      tunnels: [],
      version: "0.0.0-test",
      clock,
      log: silentLog,
      random: () => 1,
      retryFirst: true,
      status: (status) => {
        if (status.state === "waiting") waits(status.pauseMs);
      },
    });
    const next = (): Promise<number> => new Promise((resolve) => (waits = resolve));
    const since = clock.monotonic();
    while (clock.monotonic() - since < 24 * hourMs) {
      const pauseMs = await next();
      assert.ok(pauseMs <= maxPauseMs);
      assert.equal(clock.pending, 1);
      clock.pass(pauseMs);
    }
    const least = (24 * hourMs) / maxPauseMs;
    assert.ok(attempts >= least && attempts < least + 10, String(attempts));
    assert.ok(listening.now() < 10, `${listening.now()} listeners are left`);
    await agent.close();
    listening.stop();
    assert.equal(clock.pending, 0);
  });
});

/** Counts the listeners of all abort signals. */
function countListeners() {
  const { addEventListener, removeEventListener } = EventTarget.prototype;
  let count = 0;
  AbortSignal.prototype.addEventListener = function (...args: Parameters<typeof addEventListener>) {
    count += 1;
    addEventListener.apply(this, args);
  };
  AbortSignal.prototype.removeEventListener = function (...args: Parameters<typeof removeEventListener>) {
    count -= 1;
    removeEventListener.apply(this, args);
  };
  return {
    now: () => count,
    stop() {
      for (const name of ["addEventListener", "removeEventListener"] as const) {
        Reflect.deleteProperty(AbortSignal.prototype, name);
      }
    },
  };
}
