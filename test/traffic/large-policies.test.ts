/** Large policies are compiled in short slices, so that traffic goes on while a publication or an agent brings one. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startEdgeWithAgent } from "../support/edge-with-agent.ts";
import type { EdgeWithAgent } from "../support/edge-with-agent.ts";
import { protocols } from "../support/http-client.ts";

let fixture: EdgeWithAgent;

before(async () => {
  fixture = await startEdgeWithAgent();
});
after(() => fixture.stop());

const answers = (status_code: number): string =>
  JSON.stringify({ on_http_request: [{ actions: [{ type: "custom-response", config: { status_code } }] }] });

/** 100 rules, of which the last one answers. Each text is compiled once only, so every test needs its own. */
function largePolicy(status_code: number, salt: string): string {
  const rules = Array.from({ length: 99 }, (_, at) => ({
    expressions: [
      `req.url.path.startsWith('/${salt}-${at}') && req.headers['x-a'].exists(h, h.matches('^[a-z]+${at}$'))`,
    ],
    actions: [{ type: "add-headers", config: { headers: { "x-a": "${req.url.path}" } } }],
  }));
  return JSON.stringify({
    on_http_request: [...rules, { actions: [{ type: "custom-response", config: { status_code } }] }],
  });
}

/** Turns of the event loop until the promise settles. Compiling a large policy takes more than ten slices. */
async function turnsUntil(settled: Promise<unknown>): Promise<number> {
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  count();
  try {
    await settled;
  } finally {
    isOver = true;
  }
  return turns;
}
const fewestTurns = 10;

describe("a large policy", { timeout: 60_000 }, () => {
  it("D9: a large policy is compiled in slices before a publication takes effect, which then does so in one step", async () => {
    const { edge, put, ask } = fixture;
    const routeOf = (match: string, status: number) => ({
      edge_id: "edghts_1",
      match_type: "path_prefix",
      match,
      traffic_policy: { enabled: true, value: largePolicy(status, `publication${match.slice(1)}`) },
    });
    for (const match of ["/a", "/b"]) {
      put("https_edge_route", `edghtsrt_${match}`, {
        ...routeOf(match, 418),
        traffic_policy: { enabled: true, value: answers(418) },
      });
    }
    const revision = 1_000_000;
    const changes = ["/a", "/b"].map((match) => {
      const id = `edghtsrt_${match}`;
      const object = { kind: "https_edge_route", id, account_id: "ac_1", revision, doc: routeOf(match, 419) };
      return { kind: "https_edge_route", id, account_id: "ac_1", object };
    });
    const applied = edge.report((message) => message.type === "applied" && message.revision === revision);
    edge.send({ type: "changes", revision, changes });
    assert.ok((await turnsUntil(applied)) > fewestTurns);

    const seen: number[] = [];
    const again = revision + 1;
    const back = changes.map(({ object, ...change }) => ({
      ...change,
      object: { ...object, revision: again, doc: { ...object.doc, ...routeOf(`/${object.id.at(-1)}`, 420) } },
    }));
    edge.send({ type: "changes", revision: again, changes: back });
    for (let round = 0; seen.at(-1) !== 420; round += 1) {
      seen.push((await ask("h1", { path: round % 2 === 0 ? "/a" : "/b" })).status);
    }
    assert.deepEqual(
      seen,
      seen.toSorted((a, b) => a - b),
      "the routes of one publication change together",
    );
  });

  it("D9: a large policy is in effect before the message that follows it", async () => {
    const { edge, ask } = fixture;
    const change = (revision: number, value: string) => {
      const doc = {
        edge_id: "edghts_1",
        match_type: "path_prefix",
        match: "/order",
        traffic_policy: { enabled: true, value },
      };
      const object = { kind: "https_edge_route", id: "edghtsrt_order", account_id: "ac_1", revision, doc };
      edge.send({
        type: "changes",
        revision,
        changes: [{ kind: object.kind, id: object.id, account_id: "ac_1", object }],
      });
    };
    change(2_000_000, largePolicy(418, "order"));
    change(2_000_001, answers(420));
    await edge.report((message) => message.type === "applied" && message.revision === 2_000_001);
    assert.equal((await ask("h1", { path: "/order" })).status, 420);
  });

  it("D9: a large policy is compiled in slices for an explanation of a draft", async () => {
    const { edge } = fixture;
    const request = { method: "GET", host: "app.example.com", target: "/", headers: [], source: "192.0.2.1", body: "" };
    const asked = edge.question({
      name: "explain_request",
      accountId: "ac_1",
      siteId: "edghts_1",
      request: { ...request, response: undefined },
      draft: { routeId: "edghtsrt_1", fields: { traffic_policy: { enabled: true, value: largePolicy(421, "draft") } } },
    });
    assert.ok((await turnsUntil(asked)) > fewestTurns);
    const answer = await asked;
    assert.equal(answer.name === "explanation" && answer.explanation.status, 421);
  });

  for (const protocol of protocols) {
    it(`D9: a large policy is compiled in slices when an agent binds with it or changes to it, over ${protocol}`, async () => {
      const { agent, ask } = fixture;
      const hostname = `large-${protocol}.apps.example.com`;
      const bound = agent.bind({ hostname, trafficPolicy: largePolicy(418, `bind${protocol}`) });
      assert.ok((await turnsUntil(bound)) > fewestTurns);
      const { id } = await bound;
      assert.equal((await ask(protocol, { host: hostname })).status, 418);
      const changed = agent.session.changePolicy(id, largePolicy(419, `patch${protocol}`));
      assert.ok((await turnsUntil(changed)) > fewestTurns);
      assert.equal((await ask(protocol, { host: hostname })).status, 419);
      const wrong = largePolicy(418, `wrong${protocol}`).replace("add-headers", "add-nothing");
      await assert.rejects(agent.bind({ hostname: `w-${hostname}`, trafficPolicy: wrong }), {
        reason: "agent_policy_invalid",
      });
    });
  }
});
