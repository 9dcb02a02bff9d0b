/** Visitors at one edge, their agent at another: what passes the line between the edges is what passes without it. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { Refusal } from "../../src/lib/errors.ts";
import type { RefusalName } from "../../src/lib/errors.ts";
import { after, before, describe, it } from "node:test";
import { connectAgent } from "../support/agents.ts";
import type { BoundTunnel } from "../../src/tunnel/client-hooks.ts";
import type { Upward } from "../../src/routing/planes/messages.ts";
import type { TestAgent } from "../support/agents.ts";
import { protocols, readBody } from "../support/http-client.ts";
import { newCredential } from "../support/objects.ts";
import { startHttpService } from "../support/services.ts";
import type { HttpService } from "../support/services.ts";
import { startTwoEdges } from "../support/two-edges.ts";
import type { TwoEdges } from "../support/two-edges.ts";

describe("a visitor of another edge than the agent's", () => {
  const { token, object } = newCredential();
  let both: TwoEdges;
  let service: HttpService;
  let agent: TestAgent;
  let host: string;

  before(async () => {
    both = await startTwoEdges([object]);
    service = await startHttpService((request, response) => {
      void readBody(request).then((body) => {
        response.setHeader("x-forwarded", String(request.headers["x-forwarded-for"]));
        response.end(`${request.method} ${createHash("sha256").update(body).digest("hex")}`);
      });
    });
    agent = await connectAgent(both.edges[0], token, service.port);
    host = new URL((await agent.bind({ hostname: "app.example.com" })).url).hostname;
  });
  after(async () => {
    agent.close();
    await service.stop();
    await both.stop();
  });

  for (const http of protocols) {
    it(`a visitor of another edge than the agent's is answered by the service over ${http}, which sees whose request it is`, async () => {
      const body = Buffer.alloc(3_000_000, http);
      const answer = await both.edges[1].ask(http, { host, method: "POST", body, source: "127.0.0.9" });
      assert.equal(answer.status, 200);
      assert.equal(answer.text, `POST ${createHash("sha256").update(body).digest("hex")}`);
      assert.equal(answer.headers["x-forwarded"], "127.0.0.9");
    });

    it(`a visitor of another edge than the agent's finds nothing over ${http} once the tunnel has gone`, async () => {
      const { id, url } = await agent.bind({ hostname: `gone-${http}.example.com` });
      const gone = new URL(url).hostname;
      assert.equal((await both.edges[1].ask(http, { host: gone })).status, 200);
      await agent.session.unbind(id);
      await assert.rejects(both.edges[1].ask(http, { host: gone }), { code: "ERR_SSL_TLSV1_UNRECOGNIZED_NAME" });
    });
  }
});

describe("a public name over two edges", () => {
  const own = newCredential();
  const other = newCredential("cr_other");
  let both: TwoEdges;
  let service: HttpService;
  const agents: TestAgent[] = [];

  before(async () => {
    both = await startTwoEdges([own.object, { ...other.object, account_id: "ac_other" }]);
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

  it("a public name over two edges is one agent's when two ask for it at the same moment", async () => {
    const [one, two] = [await agentAt(0, own.token), await agentAt(1, other.token)];
    both.hold();
    const binds = [one, two].map((agent) => agent.bind({ hostname: "race.example.com" }));
    await Promise.all(both.edges.map((edge) => edge.report(isClaimOf("race.example.com"))));
    both.release();
    const outcomes = await Promise.allSettled(binds);
    assert.deepEqual(outcomes.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
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
