/** Two agents of one token that want one name: who has it, who gets it, and when. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { Refusal } from "../../src/lib/errors.ts";
import { connectAgent } from "../support/agents.ts";
import type { TestAgent } from "../support/agents.ts";
import { makeManualClock } from "../support/clock.ts";
import type { ManualClock } from "../support/clock.ts";
import { startTestEdge } from "../support/edge.ts";
import type { TestEdge } from "../support/edge.ts";
import { newCredential } from "../support/objects.ts";
import { connectRaw, question } from "../support/raw-agent.ts";
import type { RawAgent } from "../support/raw-agent.ts";

const { token, object } = newCredential();
const name = "mine.apps.example.com";
const stops: (() => unknown)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

async function start(): Promise<TestEdge & { readonly clock: ManualClock }> {
  const clock = makeManualClock();
  const edge = await startTestEdge([object], { clock, tcpBind: "127.0.0.1", drainMs: 0 });
  stops.push(() => edge.edge.stop());
  return { ...edge, clock };
}

async function agent(edge: TestEdge): Promise<TestAgent> {
  const connected = await connectAgent(edge, token, 1);
  stops.push(() => connected.close());
  return connected;
}

/** An agent that stays silent after it has bound, as if its network were gone. */
async function silent(
  edge: TestEdge,
  opts: object,
): Promise<{ raw: RawAgent; auth: Record<string, unknown>; id: string }> {
  const raw = await connectRaw(edge.edge.agent);
  stops.push(() => raw.socket.destroy());
  const auth = await raw.authenticate({}, { AuthToken: token });
  raw.write(question(5, 1, { Id: "", Proto: "https", Opts: opts, Extra: {} }));
  const answer = await raw.answer(5);
  assert.equal(answer["Error"], "");
  return { raw, auth, id: String(answer["Id"]) };
}

/** The server has read the agent's requests so far. */
function heard({ session }: TestAgent): Promise<void> {
  return session.unbind("tn_none");
}

function holderOf(edge: TestEdge, id: string): string | undefined {
  const opened = edge.reports.find((report) => report.type === "tunnel_opened" && report.tunnel.id === id);
  return opened?.type === "tunnel_opened" ? opened.tunnel.sessionId : undefined;
}

describe("a name that another agent of the same token has", () => {
  const wanted = {
    https: { proto: "https", hostname: name },
    tls: { proto: "tls", hostname: name },
    tcp: { proto: "tcp", address: ":20007" },
  } as const;
  for (const [proto, asked] of Object.entries(wanted)) {
    it(`A9: a name of another agent of the same token stays with it while it is connected, over ${proto}, and the refusal names the holder`, async () => {
      const edge = await start();
      const first = await agent(edge);
      const { id } = await first.bind(asked);
      const second = await agent(edge);
      const holder = holderOf(edge, id);
      await assert.rejects(second.bind(asked), (error) => {
        assert.ok(error instanceof Refusal);
        assert.equal(error.reason, "agent_name_taken");
        assert.ok(holder && error.message.includes(`the tunnel session "${holder}"`), error.message);
        return true;
      });
      assert.deepEqual(first.stopped, []);
      first.close();
      await first.closed;
      await second.bind(asked);
    });
  }

  it("A9: a name that another agent of the same token has goes over when the agent does not answer in time, and no sooner", async () => {
    const edge = await start();
    const { id } = await silent(edge, { Hostname: name });
    const second = await agent(edge);
    const bound = second.bind({ hostname: name });
    await heard(second);
    edge.clock.pass(1999);
    await heard(second);
    assert.equal(
      edge.reports.some(({ type }) => type === "tunnel_closed"),
      false,
    );
    edge.clock.pass(1);
    assert.equal((await bound).hostname, name);
    assert.deepEqual(
      edge.reports.find(({ type }) => type === "tunnel_closed"),
      { type: "tunnel_closed", tunnelId: id },
    );
  });

  it("A9: a name of another agent of the same token is free immediately if the agent's connection ends during the request", async () => {
    const edge = await start();
    const { raw } = await silent(edge, { Hostname: name });
    const second = await agent(edge);
    const bound = second.bind({ hostname: name });
    await heard(second);
    raw.socket.destroy();
    assert.equal((await bound).hostname, name);
  });

  it("A9: a name of another agent of the same token is free immediately for the same agent after a reconnect, even if its old connection seems alive", async () => {
    const edge = await start();
    const { raw, auth, id } = await silent(edge, { Hostname: name });
    const again = await connectRaw(edge.edge.agent);
    stops.push(() => again.socket.destroy());
    const { Cookie } = auth["Extra"] as { Cookie: string };
    await again.authenticate({ ClientId: auth["ClientId"] }, { AuthToken: token, Cookie });
    again.write(question(5, 1, { Id: id, Proto: "https", Opts: { Hostname: name }, Extra: {} }));
    assert.equal((await again.answer(5))["Error"], "");
    await raw.closed;
  });

  it("A9: a name of another agent of the same token is free immediately for an agent with the tunnel's token, even in a new session", async () => {
    const edge = await start();
    const first = await agent(edge);
    const { id, token: proof } = await first.bind({ hostname: name });
    const second = await agent(edge);
    const again = await second.bind({ hostname: name, resume: { id, token: proof } });
    assert.equal(again.id, id);
  });

  it("a generated name differs while another agent of the token has the first, and is the first again when that agent is silent", async () => {
    const edge = await start();
    const first = await agent(edge);
    const second = await agent(edge);
    const names = [(await first.bind()).hostname, (await second.bind()).hostname];
    assert.notEqual(names[0], names[1]);
    first.close();
    await first.closed;
    assert.equal((await (await agent(edge)).bind()).hostname, names[0]);
  });

  it("a name of a silent agent goes to one of two agents that request it", async () => {
    const edge = await start();
    await silent(edge, { Hostname: name });
    const others = [await agent(edge), await agent(edge)];
    const bounds = others.map((other) => other.bind({ hostname: name }));
    const outcomes = Promise.allSettled(bounds);
    await Promise.all(others.map(heard));
    edge.clock.pass(2000);
    assert.deepEqual((await outcomes).map(({ status }) => status).toSorted(), ["fulfilled", "rejected"]);
  });
});
