/** Dry runs of whole connections, and of endpoints that share a URL or that no client finds: rule by rule. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { connectAgent } from "../support/agents.ts";
import type { TestAgent } from "../support/agents.ts";
import { startTestEdge } from "../support/edge.ts";
import type { TestEdge } from "../support/edge.ts";
import type { EdgeQuestion, ExplanationReport } from "../../src/routing/planes/edge-questions.ts";
import { connectionEdge, newCredential } from "../support/objects.ts";

let edge: TestEdge;
let agent: TestAgent;

before(async () => {
  const { token, object } = newCredential();
  edge = await startTestEdge([object]);
  agent = await connectAgent(edge, token, 1, false);
  await agent.label({ app: "db" });
});
after(async () => {
  agent.close();
  await edge.edge.stop();
});

const rules = (...list: readonly object[]) => JSON.stringify({ on_tcp_connect: list });
const forward = (url: string) => ({ actions: [{ type: "forward-internal", config: { url } }] });
const says = (body: string) =>
  JSON.stringify({ on_http_request: [{ actions: [{ type: "custom-response", config: { body } }] }] });

type Asked = Extract<EdgeQuestion, { readonly name: "explain_connection" }>;

async function explain(asked: Pick<Asked, "kind" | "siteId"> & Partial<Asked>): Promise<ExplanationReport> {
  const question = { name: "explain_connection", accountId: "ac_1", source: "192.0.2.1", ...asked } as const;
  const answer = await edge.question(question);
  assert.ok(answer.name === "explanation", JSON.stringify(answer));
  return answer.explanation;
}

/** The result of each rule, with the values of its expressions. */
function told({ steps }: ExplanationReport): readonly unknown[] {
  return steps.flatMap(({ rule, reason }) =>
    rule ? [[reason, rule.values.map(({ outcome }) => outcome), rule.actions.map(({ outcome }) => outcome)]] : [],
  );
}

describe("explain of connections", { timeout: 30_000 }, () => {
  it("explain of connections shows each rule of a TLS edge, its TLS, and the internal endpoint that it leads to", async () => {
    const value = rules(
      { expressions: ["conn.tls.sni == 'x'"], actions: [{ type: "deny" }] },
      { actions: [{ type: "terminate-tls", config: { max_version: "1.2" } }] },
      { expressions: ["conn.tls.version == '1.2'"], ...forward("tls://${conn.tls.sni.split('.')[0]}.internal") },
    );
    const blocks = { traffic_policy: { enabled: true, value } };
    for (const one of connectionEdge("tls_edge", "db", ["db.example.com:443"], blocks)) edge.put(one);
    const { id } = await agent.bind({
      proto: "tls",
      hostname: "db.internal",
      trafficPolicy: rules({ actions: [{ type: "log", config: { metadata: { a: "1" } } }] }),
    });
    const explanation = await explain({ kind: "tls_edge", siteId: "edg_db" });
    assert.deepEqual(told(explanation), [
      ["on_tcp_connect[0]: expression 1 is false", ["false"], []],
      ["on_tcp_connect[1]: terminate-tls: terminated TLS, version 1.2", [], ["done"]],
      ["on_tcp_connect[2]: forward-internal: forwarded to tls://db.internal:443", ["true"], ["ended"]],
      [explanation.steps.at(-2)?.reason, [], ["done"]],
    ]);
    assert.deepEqual([explanation.outcome, explanation.tunnel?.id], ["forwarded", id]);
    const inside = await explain({ kind: "tls_endpoint", siteId: `ep_${id.slice(3)}`, host: "db.internal", port: 443 });
    assert.deepEqual([inside.outcome, inside.tunnel?.id], ["forwarded", id]);
    await agent.session.unbind(id);
    const away = await explain({ kind: "tls_edge", siteId: "edg_db" });
    assert.equal(away.outcome, "denied");
    assert.match(told(away).join(), /the endpoint is not online/);
  });

  it("explain of connections covers a tcp cloud endpoint, and one whose rule denies everyone", async () => {
    const doc = (value: string) => ({ url: "tcp://db.internal:5432", traffic_policy: value });
    edge.put({ kind: "cloud_endpoint", id: "ep_1", doc: doc(rules({ actions: [{ type: "deny" }] })) });
    const denied = await explain({ kind: "tcp_edge", siteId: "ep_1" });
    assert.deepEqual([denied.outcome, told(denied).length], ["denied", 1]);
    edge.put({
      kind: "cloud_endpoint",
      id: "ep_1",
      doc: doc(rules({ expressions: ["false"], actions: [{ type: "deny" }] })),
    });
    const fell = await explain({ kind: "tcp_edge", siteId: "ep_1" });
    assert.match(fell.steps.at(-1)?.reason ?? "", /no rule of the endpoint's policy has answered/);
  });

  it("explain of connections and requests names the selected endpoint, if several have its URL", async () => {
    const hostname = "pool.example.com";
    const binds = [1, 2].map(() => agent.bind({ proto: "tls", hostname, pooling: true }));
    for (const { id } of await Promise.all(binds)) {
      const { tunnel } = await explain({
        kind: "tls_endpoint",
        siteId: `ep_${id.slice(3)}`,
        host: hostname,
        port: 443,
      });
      assert.equal(tunnel?.id, id);
      await agent.session.unbind(id);
    }
    for (const host of ["clouds.example.com", "clouds.internal"]) {
      const ids = ["ep_one", "ep_two"];
      for (const id of ids) {
        const doc = { url: `https://${host}`, traffic_policy: says(id), pooling_enabled: true };
        edge.put({ kind: "cloud_endpoint", id, doc });
      }
      for (const siteId of ids) {
        const request = {
          method: "GET",
          host,
          target: "/",
          headers: [],
          source: "192.0.2.1",
          body: "",
          response: undefined,
        };
        const answer = await edge.question({ name: "explain_request", accountId: "ac_1", siteId, request });
        assert.ok(answer.name === "explanation", JSON.stringify(answer));
        assert.deepEqual([answer.explanation.edge?.id, answer.explanation.status], [siteId, 200]);
      }
      for (const id of ids) edge.remove("cloud_endpoint", id);
    }
  });
});
