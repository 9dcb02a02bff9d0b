/** Agents and visitors together: how requests are distributed, and how names change hands. */
import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { afterEach, describe, it } from "node:test";
import { Refusal, errorCode } from "../../src/lib/errors.ts";
import type { RefusalName } from "../../src/lib/errors.ts";
import { connectAgent } from "../support/agents.ts";
import type { TestAgent } from "../support/agents.ts";
import { startTestEdge } from "../support/edge.ts";
import type { TestEdge } from "../support/edge.ts";
import { protocols } from "../support/http-client.ts";
import { httpsEdge, newCredential } from "../support/objects.ts";
import { startHttpService } from "../support/services.ts";
import type { HttpService } from "../support/services.ts";

const host = "shop.example.com";
const stops: (() => unknown)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

const credential = newCredential();

async function start(objects = httpsEdge("shop", [host])): Promise<TestEdge> {
  const edge = await startTestEdge([credential.object, ...objects], { drainMs: 100 });
  stops.push(() => edge.edge.stop());
  return edge;
}

async function service(answer: (path: string, response: ServerResponse) => void): Promise<HttpService> {
  const started = await startHttpService((request, response) => answer(request.url ?? "", response));
  stops.push(() => started.stop());
  return started;
}

async function agent(edge: TestEdge, port: number, token = credential.token): Promise<TestAgent> {
  const connected = await connectAgent(edge, token, port);
  stops.push(() => connected.close());
  return connected;
}

function refused(reason: RefusalName): (error: unknown) => boolean {
  return (error) => error instanceof Refusal && error.reason === reason;
}

for (const protocol of protocols) {
  const ask = (edge: TestEdge, name = host, path = "/") => edge.ask(protocol, { host: name, path });

  describe(`agents behind an edge over ${protocol}`, () => {
    it(`agents behind an edge over ${protocol} take turns, whatever the number of agents with the labels`, async () => {
      const edge = await start();
      const names = ["one", "two", "three"];
      for (const name of names) {
        const { port } = await service((_path, response) => response.end(name));
        await (await agent(edge, port)).label({ app: "shop", name });
      }
      const other = await service((_path, response) => response.end("other"));
      await (await agent(edge, other.port)).label({ app: "elsewhere" });
      const counts = new Map<string, number>();
      for (let count = 0; count < 30; count += 1) {
        const { text } = await ask(edge);
        counts.set(text, (counts.get(text) ?? 0) + 1);
      }
      assert.deepEqual(
        [...counts].sort(([a], [b]) => (a < b ? -1 : 1)),
        [
          ["one", 10],
          ["three", 10],
          ["two", 10],
        ],
      );
    });

    it(`agents behind an edge over ${protocol} get fewer requests while they are busy`, async () => {
      const edge = await start();
      const held: ServerResponse[] = [];
      const slow = await service((path, response) => {
        if (path === "/hold") held.push(response);
        else response.end("slow");
      });
      const busy = await agent(edge, slow.port);
      await busy.label({ app: "shop" });
      const holding = Array.from({ length: 3 }, () => ask(edge, host, "/hold"));
      while (held.length < 3) await new Promise(setImmediate);
      const quick = await service((_path, response) => response.end("quick"));
      await (await agent(edge, quick.port)).label({ app: "shop" });
      for (let count = 0; count < 10; count += 1) assert.equal((await ask(edge)).text, "quick");
      for (const response of held) response.end("at last");
      for (const { text } of await Promise.all(holding)) assert.equal(text, "at last");
    });

    it(`agents behind an edge over ${protocol} replace one that has disconnected or cannot reach its service`, async () => {
      const edge = await start();
      const dead = await startHttpService((_request, response) => response.end("dead"));
      const broken = await agent(edge, dead.port);
      await broken.label({ app: "shop" });
      assert.equal((await ask(edge)).text, "dead");
      const alive = await service((_path, response) => response.end("alive"));
      const healthy = await agent(edge, alive.port);
      await healthy.label({ app: "shop" });
      await dead.stop();
      for (let count = 0; count < 6; count += 1) assert.equal((await ask(edge)).text, "alive");
      broken.close();
      for (let count = 0; count < 6; count += 1) assert.equal((await ask(edge)).text, "alive");
      healthy.close();
      await edge.report(
        (message) =>
          message.type === "session_closed" &&
          edge.reports.filter(({ type }) => type === "session_closed").length === 2,
      );
      const none = await ask(edge);
      assert.equal(none.status, 503);
      assert.match(none.text, new RegExp(errorCode("backend_empty")));
    });

    it(`agents behind an edge over ${protocol} are distinguished from a service that cannot be reached at all`, async () => {
      const edge = await start();
      const dead = await startHttpService(() => {});
      await (await agent(edge, dead.port)).label({ app: "shop" });
      await dead.stop();
      const answer = await ask(edge);
      assert.equal(answer.status, 502);
      assert.match(answer.text, new RegExp(errorCode("agent_dial_failed")));
    });

    it(`agents behind an edge over ${protocol} show no interstitial page to any visitor`, async () => {
      const edge = await start([]);
      const { port } = await service((path, response) => response.end(`own ${path}`));
      const { hostname } = await (await agent(edge, port)).bind();
      for (const headers of [
        {
          "user-agent": "Mozilla/5.0 (X11; Linux x86_64) Chrome/140.0",
          accept: "text/html,*/*",
          "sec-fetch-mode": "navigate",
        },
        { "user-agent": "GitHub-Hookshot/1", accept: "*/*" },
        { "user-agent": "curl/8" },
      ]) {
        const { status, text, headers: fields } = await edge.ask(protocol, { host: hostname, path: "/first", headers });
        assert.deepEqual(
          [status, text, fields["location"], fields["set-cookie"]],
          [200, "own /first", undefined, undefined],
        );
      }
    });

    it(`agents behind an edge over ${protocol} have endpoints with stable names`, async () => {
      const edge = await start([]);
      const { port } = await service((path, response) => response.end(`own ${path}`));
      const first = await agent(edge, port);
      const { url, hostname, id, token } = await first.bind();
      assert.match(hostname, /^[a-z]+-[a-z]+-[0-9a-z]{6}\.apps\.example\.com$/);
      assert.equal(url, `https://${hostname}:${edge.edge.https.port}`);
      assert.equal((await ask(edge, hostname, "/x")).text, "own /x");
      first.close();
      await first.closed;
      const second = await agent(edge, port);
      const between = await second.bind();
      assert.equal(between.hostname, hostname);
      await second.session.unbind(between.id);
      // Resumed with the agent's earlier id.
      const third = await agent(edge, port);
      const again = await third.bind({ hostname, resume: { id, token } });
      assert.deepEqual([again.id, again.hostname], [id, hostname]);
      assert.equal((await ask(edge, hostname, "/y")).text, "own /y");
    });
  });
}

describe("agents' rights", () => {
  it("G2: agents' rights are limited by their ACL, by other accounts' names and by names of edges", async () => {
    const stranger = newCredential("cr_2");
    const limited = newCredential("cr_3");
    const edge = await start([
      ...httpsEdge("shop", [host]),
      { ...stranger.object, account_id: "ac_2" },
      { ...limited.object, doc: { ...limited.object.doc, acl: ["bind:only.apps.example.com", "bind:app=shop"] } },
    ]);
    const { port } = await service((_path, response) => response.end("own"));
    const owner = await agent(edge, port);
    await owner.bind({ subdomain: "taken" });
    const other = await agent(edge, port, stranger.token);
    for (const hostname of ["taken.apps.example.com", host]) {
      await assert.rejects(other.bind({ hostname }), refused("agent_name_taken"));
    }
    await assert.rejects(owner.bind({ hostname: host }), refused("agent_name_taken"));
    const narrow = await agent(edge, port, limited.token);
    await narrow.bind({ subdomain: "only" });
    await assert.rejects(narrow.bind({ subdomain: "more" }), refused("agent_denied"));
    await narrow.label({ app: "shop" });
    await assert.rejects(narrow.label({ app: "bank" }), refused("agent_denied"));
    await assert.rejects(agent(edge, port, newCredential().token), refused("agent_token_unknown"));
  });

  it("G2: another account's tunnels never serve an edge, whatever their labels", async () => {
    const stranger = newCredential("cr_2");
    const edge = await start([...httpsEdge("shop", [host]), { ...stranger.object, account_id: "ac_2" }]);
    const { port } = await service((_path, response) => response.end("stolen"));
    await (await agent(edge, port, stranger.token)).label({ app: "shop" });
    const answer = await edge.ask("h1", { host: host });
    assert.equal(answer.status, 503);
  });

  it("K5: agents' rights end with the token, for requests and for the session", async () => {
    const edge = await start();
    const { port } = await service((_path, response) => response.end("fine"));
    const connected = await agent(edge, port);
    await connected.label({ app: "shop" });
    const { hostname } = await connected.bind();
    assert.equal((await edge.ask("h2", { host: hostname })).text, "fine");
    edge.remove("credential", "cr_1");
    await connected.closed;
    assert.equal((await edge.ask("h1", { host: host })).status, 503);
    assert.equal((await edge.ask("h1", { host: hostname })).status, 404);
    await assert.rejects(agent(edge, port), refused("agent_token_unknown"));
  });
});
