/** Our own agent as `postern http` runs it, beside a server that the test has in its hands. */
import assert from "node:assert/strict";
import { afterEach, before, describe, it } from "node:test";
import { Refusal } from "../../src/lib/errors.ts";
import { silentLog } from "../../src/lib/log.ts";
import type { AgentSession, BindRequest } from "../../src/tunnel/server-hooks.ts";
import { eventually } from "../support/eventually.ts";
import { startOurAgent } from "../support/our-agent.ts";
import type { OurAgent, OurAgentOptions } from "../support/our-agent.ts";
import { makeAuthority, Register, rightToken, startTunnelServer } from "../support/tunnel-server.ts";
import type { Authority, TunnelServer } from "../support/tunnel-server.ts";

/** Gives a name to one session only, as servers did that knew no agents with several. */
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
  async function startAgent({ port }: TunnelServer, options: OurAgentOptions): Promise<OurAgent> {
    const agent = await startOurAgent({ port, ca: authority.ca.certificatePem, token: rightToken }, options);
    stops.push(() => agent.close());
    return agent;
  }

  it("the life of an agent at a server that knows no agents with several sessions goes on with one, and says so once", async () => {
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
    // It comes back after a loss, and does not try several again.
    for (const socket of server.sockets) socket.destroy();
    await agent.online(2);
    assert.deepEqual(warnings, ["one session only"]);
    assert.equal(left(), 1);
  });
});
