import assert from "node:assert/strict";
import { afterEach, before, beforeEach } from "node:test";
import { makeManualClock } from "./clock.ts";
import type { ManualClock } from "./clock.ts";
import { connectRaw } from "./raw-agent.ts";
import type { RawAgent } from "./raw-agent.ts";
import { makeAuthority, startTunnelServer } from "./tunnel-server.ts";
import type { Authority, TunnelServer, TunnelServerOptions } from "./tunnel-server.ts";

export interface RawAgents {
  /** Clock of the current test. */
  readonly clock: ManualClock;
  readonly server: TunnelServer;
  /** Replaces the server. */
  restart(options: Omit<TunnelServerOptions, "authority" | "clock">): Promise<void>;
  /** Connects an agent to the server. It disconnects at the end of the test. */
  connected(): Promise<RawAgent>;
}

/** Gives each test of the calling suite a new server and clock, and checks that no timer remains. */
export function useRawAgents(): RawAgents {
  let authority: Authority;
  let clock: ManualClock;
  let server: TunnelServer;
  const agents: RawAgent[] = [];
  before(async () => {
    authority = await makeAuthority();
  });
  beforeEach(async () => {
    clock = makeManualClock();
    server = await startTunnelServer({ authority, clock });
  });
  afterEach(async () => {
    for (const agent of agents.splice(0)) agent.socket.destroy();
    await server.stop();
    assert.equal(clock.pending, 0, "every timer is cancelled");
  });
  return {
    get clock() {
      return clock;
    },
    get server() {
      return server;
    },
    async restart(options) {
      await server.stop();
      server = await startTunnelServer({ authority, clock, ...options });
    },
    async connected() {
      const taken = server.taken();
      const agent = await connectRaw(server);
      agents.push(agent);
      await taken;
      return agent;
    },
  };
}
