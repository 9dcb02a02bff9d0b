/** Public names that several edges give out: one holder, wherever it and the others are connected. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Refusal } from "../../src/lib/errors.ts";
import type { RefusalName } from "../../src/lib/errors.ts";
import type { Upward } from "../../src/routing/planes/messages.ts";
import type { BoundTunnel } from "../../src/tunnel/client-hooks.ts";
import { connectAgent } from "../support/agents.ts";
import type { TestAgent } from "../support/agents.ts";
import { movableClock } from "../support/clock.ts";
import { protocols } from "../support/http-client.ts";
import { httpsEdge, newCredential } from "../support/objects.ts";
import { startOurAgent } from "../support/our-agent.ts";
import { startHttpService } from "../support/services.ts";
import type { HttpService } from "../support/services.ts";
import { startTwoEdges } from "../support/two-edges.ts";
import type { TwoEdges } from "../support/two-edges.ts";

describe("a public name over two edges", () => {
  const own = newCredential();
  const other = newCredential("cr_other");
  const shop = "shop.example.com";
  let both: TwoEdges;
  let service: HttpService;
  const agents: TestAgent[] = [];

  before(async () => {
    const objects = [
      own.object,
      { ...other.object, account_id: "ac_other" },
      ...httpsEdge("shop", [shop]),
      ...httpsEdge("tour", ["tour.example.com"]),
    ];
    both = await startTwoEdges(objects);
    service = await startHttpService((_request, response) => response.end("served"));
  });
  after(async () => {
    for (const agent of agents) agent.close();
    await service.stop();
    await both.stop();
  });
  const agentAt = async (at: 0 | 1, token: string): Promise<TestAgent> => {
    const agent = await connectAgent(both.edges[at], token, service.port);
    agents.push(agent);
    return agent;
  };

  it("R5: a public name over two edges is refused to another credential at the other edge, too", async () => {
    const holder = await agentAt(0, own.token);
    await holder.bind({ hostname: "held.example.com" });
    const asking = await agentAt(1, other.token);
    await assert.rejects(asking.bind({ hostname: "held.example.com" }), refused("agent_name_taken"));
  });

  it("a public name over two edges goes to one agent when two request it at the same moment", async () => {
    const [one, two] = [await agentAt(0, own.token), await agentAt(1, other.token)];
    both.hold();
    const binds = [one, two].map((agent) => agent.bind({ hostname: "race.example.com" }));
    await Promise.all(both.edges.map((edge) => edge.report(isClaimOf("race.example.com"))));
    both.release();
    const outcomes = await Promise.allSettled(binds);
    assert.deepEqual(outcomes.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
  });

  it("a tunnel that moves to the other edge and back is found there, even if earlier messages arrive late", async () => {
    const returning = async (at: 0 | 1, earlier?: TestAgent): Promise<TestAgent> => {
      const agent = await connectAgent(both.edges[at], own.token, service.port, true, earlier?.session);
      agents.push(agent);
      await agent.label({ app: "tour" });
      return agent;
    };
    const first = await returning(0);
    both.hold();
    const second = await returning(1, first);
    const third = await returning(0, first);
    both.release();
    await second.closed;
    const { status, body } = await both.edges[0].ask("h1", { host: "tour.example.com" });
    assert.deepEqual([status, body.toString(), third.opened], [200, "served", 1]);
  });

  it("a public name over two edges that is made up is another for each of two agents that forward to the same", async () => {
    const [one, two] = [await agentAt(0, own.token), await agentAt(1, own.token)];
    const before = both.edges.map(({ reports }) => reports.filter(isClaim).length);
    both.hold();
    const binds = [one, two].map((agent) => agent.bind());
    await Promise.all(
      both.edges.map((edge, at) =>
        edge.report((message) => isClaim(message) && edge.reports.filter(isClaim).length > (before[at] ?? 0)),
      ),
    );
    both.release();
    const [first, second] = (await Promise.all(binds)) as [BoundTunnel, BoundTunnel];
    assert.notEqual(first.url, second.url);
    for (const { url } of [first, second]) {
      for (const edge of both.edges) {
        assert.equal((await edge.ask("h1", { host: new URL(url).hostname })).text, "served");
      }
    }
  });

  it("a tunnel over two edges receives requests only after its agent has the confirmation", async (test) => {
    const [edge] = both.edges;
    // The other edge gets the message later, and the agent after that.
    both.hold();
    const at = { port: edge.edge.agent.port, ca: edge.authority.certificatePem, token: own.token };
    const options = { upstream: service.port, labels: { app: "shop" }, agent: { connections: 1 }, offline: true };
    const agent = await startOurAgent(at, options);
    test.after(() => agent.close());
    await edge.report((report) => report.type === "tunnel_opened" && report.tunnel.labels?.["app"] === "shop");
    const asking = protocols.map((protocol) => edge.ask(protocol, { host: shop, method: "POST", body: "once" }));
    const answers = await Promise.all(asking).finally(both.release);
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200],
    );
  });

  it("a public name over two edges goes with its agent to another edge, and serves visitors of both", async () => {
    const first = await agentAt(0, own.token);
    const { id, token, hostname } = await first.bind({ hostname: "moving.example.com" });
    const { clientId, cookie } = first.session;
    const second = await connectAgent(both.edges[1], own.token, service.port, true, { clientId, cookie });
    agents.push(second);
    await first.closed;
    const again = await second.bind({ hostname: "moving.example.com", resume: { id, token } });
    assert.deepEqual([again.id, again.hostname], [id, hostname]);
    for (const edge of both.edges) assert.equal((await edge.ask("h1", { host: "moving.example.com" })).text, "served");
  });

  it("a public name over two edges moves with an agent that binds its tunnel in another session, without an end event for the first", async () => {
    const first = await agentAt(0, own.token);
    const { id, token } = await first.bind({ hostname: "along.example.com" });
    const second = await agentAt(1, own.token);
    const again = await second.bind({ hostname: "along.example.com", resume: { id, token } });
    assert.equal(again.id, id);
    const visits = await Promise.all(both.edges.map((edge) => edge.ask("h1", { host: "along.example.com" })));
    assert.deepEqual(
      visits.map(({ text }) => text),
      ["served", "served"],
    );
    assert.equal(first.opened, 0);
    assert.equal(second.opened, 2);
    assert.deepEqual(first.stopped, []);
  });

  it("a public name over two edges is not taken from a connected agent by another with the same credential", async () => {
    const first = await agentAt(0, own.token);
    await first.bind({ hostname: "there.example.com" });
    const second = await agentAt(1, own.token);
    await assert.rejects(second.bind({ hostname: "there.example.com" }), (error: Error) => {
      assert.ok(refused("agent_name_taken")(error));
      assert.match(error.message, /the tunnel session "ts_/);
      return true;
    });
    await first.session.unbind((await first.bind({ hostname: "left.example.com" })).id);
    await second.bind({ hostname: "left.example.com" });
  });

  it("a public name over two edges is served by the agents at the visitor's edge, and by others when those are gone", async () => {
    const services = await Promise.all(
      ["here", "there"].map((name) => startHttpService((_request, response) => response.end(name))),
    );
    const pair = await Promise.all(
      both.edges.map((edge, at) => connectAgent(edge, own.token, services[at]?.port ?? 0)),
    );
    for (const agent of pair) await agent.bind({ hostname: "pool.example.com", pooling: true });
    const ask = async (at: 0 | 1): Promise<string> =>
      (await both.edges[at].ask("h1", { host: "pool.example.com" })).text;
    for (let turn = 0; turn < 5; turn += 1) assert.deepEqual([await ask(0), await ask(1)], ["here", "there"]);
    pair[1]?.close();
    await both.edges[1].report((message) => message.type === "session_closed");
    assert.deepEqual([await ask(0), await ask(1)], ["here", "here"]);
    pair[0]?.close();
    for (const one of services) await one.stop();
  });
});

describe("an edge that has lost the control plane", { timeout: 30_000 }, () => {
  const clock = movableClock();
  const { token, object } = newCredential();
  let both: TwoEdges;
  let agent: TestAgent;
  before(async () => {
    both = await startTwoEdges([object], { clock });
    agent = await connectAgent(both.edges[0], token, 1);
  });
  after(async () => {
    agent.close();
    await both.stop();
  });

  it("an edge that has lost the control plane gives an agent its earlier name, or a name that is certainly free, and no other", async () => {
    const { id } = await agent.bind({ hostname: "mine.example.com" });
    const made = await agent.bind();
    both.hold();
    both.edges[0].loseControlPlane();
    await agent.session.unbind(id);
    assert.equal((await agent.bind({ hostname: "mine.example.com" })).hostname, "mine.example.com");
    await assert.rejects(agent.bind({ hostname: "new.example.com" }), refused("agent_name_unconfirmed"));
    const fresh = [await agent.bind(), await agent.bind()].map(({ hostname }) => hostname);
    assert.equal(new Set([made.hostname, ...fresh]).size, 3);
  });

  it("an edge that has lost the control plane does not wait long for a silent one", async () => {
    both.release();
    both.edges[0].send({ type: "snapshot", revision: 1, objects: [object], last: true });
    both.hold();
    const asked = both.edges[0].report(
      (message) => message.type === "claim" && message.claim.name === "quiet.example.com",
    );
    const bound = agent.bind({ hostname: "quiet.example.com" });
    await asked;
    clock.move(3_000);
    await assert.rejects(bound, refused("agent_name_unconfirmed"));
    both.release();
    assert.equal((await agent.bind({ hostname: "quiet.example.com" })).hostname, "quiet.example.com");
  });

  it("an edge that cannot ask whether a generated name is free generates one that is certainly free", async () => {
    both.release();
    both.edges[0].send({ type: "snapshot", revision: 1, objects: [object], last: true });
    both.hold();
    const asked = both.edges[0].report((message) => message.type === "claim");
    const bound = agent.bind();
    const claim = await asked;
    clock.move(3_000);
    const { hostname } = await bound;
    assert.ok(claim.type === "claim" && claim.claim.name !== hostname);
    both.release();
    assert.equal((await both.edges[1].ask("h1", { host: hostname })).status, 502);
  });

  it("an edge that has lost the control plane grants names again when it is back", async () => {
    both.release();
    both.edges[0].send({ type: "snapshot", revision: 1, objects: [object], last: true });
    assert.equal((await agent.bind({ hostname: "new.example.com" })).hostname, "new.example.com");
  });
});

function isClaim(message: Upward): boolean {
  return message.type === "claim";
}

function isClaimOf(name: string): (message: Upward) => boolean {
  return (message) => message.type === "claim" && message.claim.name === name;
}

function refused(reason: RefusalName): (error: unknown) => boolean {
  return (error) => error instanceof Refusal && error.reason === reason;
}
