/** Responses made at internal endpoints pass the response rules and modules of the forwarding endpoint. */
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { after, before, describe, it } from "node:test";
import type { ExplanationReport } from "../../src/routing/planes/edge-questions.ts";
import { host, startEdgeWithAgent } from "../support/edge-with-agent.ts";
import type { EdgeWithAgent } from "../support/edge-with-agent.ts";
import { protocols } from "../support/http-client.ts";

let fixture: EdgeWithAgent;
before(async () => {
  fixture = await startEdgeWithAgent();
});
after(() => fixture.stop());

const action = (type: string, config: object = {}) => ({ actions: [{ type, config }] });
const forward = (name: string) => action("forward-internal", { url: `https://${name}.internal` });
const adds = (by: string) => action("add-headers", { headers: { "x-by": by } });
const policy = (on_http_request: readonly object[], on_http_response: readonly object[] = []): string =>
  JSON.stringify({ on_http_request, on_http_response });
const answering = action("custom-response", {
  status_code: 203,
  headers: { "content-type": "text/plain", "x-secret": "s3cret" },
  body: "the answer",
});

function cloud(name: string, ...given: Parameters<typeof policy>): void {
  fixture.put("cloud_endpoint", `ep_${name}`, { url: `https://${name}.internal`, traffic_policy: policy(...given) });
}

async function explained(): Promise<ExplanationReport> {
  const request = { method: "GET", host, target: "/", headers: [], source: "192.0.2.1", body: "", response: undefined };
  const told = await fixture.edge.question({ name: "explain_request", accountId: "ac_1", siteId: "edghts_1", request });
  if (told.name !== "explanation") throw new Error(told.name);
  return told.explanation;
}

for (const protocol of protocols) {
  describe(`an answer of an internal endpoint's own over ${protocol}`, { timeout: 30_000 }, () => {
    const route = (response: readonly object[], more: object = {}): void =>
      fixture.route({
        traffic_policy: { enabled: true, value: policy([forward("one")], response) },
        backend: null,
        ...more,
      });

    it(`P4: an answer of an internal endpoint's own over ${protocol} passes the rules and modules of the route, after its own`, async () => {
      cloud("one", [answering], [adds("one")]);
      const removing = action("remove-headers", { headers: ["x-secret"] });
      route([removing, adds("route")], {
        response_headers: { enabled: true, add: { "x-module": "${res.status_code}" }, remove: [] },
      });
      const answer = await fixture.ask(protocol);
      assert.deepEqual([answer.status, answer.body.toString()], [203, "the answer"]);
      assert.equal(answer.headers["x-secret"], undefined);
      assert.equal(answer.headers["x-by"], "one, route");
      assert.equal(answer.headers["x-module"], "203");
    });

    it(`an answer of an internal endpoint's own over ${protocol} is traced and explained with the rules of all that it passes`, async () => {
      cloud("two", [answering], [adds("two")]);
      cloud("one", [forward("two")], [adds("one")]);
      route([adds("route")]);
      const answer = await fixture.ask(protocol);
      assert.equal(answer.headers["x-by"], "two, one, route");
      const told = await fixture.edge.question({ name: "request", accountId: "ac_1", id: answer.id });
      const [trace] = told.name === "requests" ? told.requests : [];
      const explanation = await explained();
      for (const { steps, outcome, status } of [trace as NonNullable<typeof trace>, explanation]) {
        assert.deepEqual([outcome, status], ["answered", 203]);
        const rules = steps.filter(({ reason }) => /^on_http_\w+\[/.test(reason));
        assert.deepEqual(
          rules.map(({ reason, outcome: of }) => `${of} ${reason.split(":")[1]?.trim()}`),
          [
            "changed forward-internal",
            "changed forward-internal",
            "answered custom-response",
            ...Array(3).fill("changed add-headers"),
          ],
        );
      }
    });

    it(`an answer of an internal endpoint's own over ${protocol} has its body changed, and is replaced, by rules of the route`, async () => {
      cloud("one", [answering]);
      const replacements = [{ from: "answer", to: "reply" }];
      route([action("response-body-find-replace", { replacements })]);
      const changed = await fixture.ask(protocol);
      assert.deepEqual([changed.status, changed.body.toString()], [203, "the reply"]);
      assert.equal(changed.headers["content-length"], String("the reply".length));
      route([action("custom-response", { status_code: 410, body: "gone" })]);
      const replaced = await fixture.ask(protocol);
      assert.deepEqual([replaced.status, replaced.body.toString()], [410, "gone"]);
      assert.equal(replaced.headers["x-secret"], undefined);
      assert.equal((await explained()).status, 410);
    });

    it(`the answer to a webhook provider's test over ${protocol} is no refusal, and passes the rules of all that it passes`, async () => {
      const secret = "s3cret-s3cret";
      const verifying = action("verify-webhook", { provider: "twitter", secret });
      const ask = () => fixture.ask(protocol, { path: "/?crc_token=token" });
      const told = async (id: string) => {
        const known = await fixture.edge.question({ name: "request", accountId: "ac_1", id });
        return known.name === "requests" ? known.requests[0] : undefined;
      };
      const response_token = `sha256=${createHmac("sha256", secret).update("token").digest("base64")}`;
      cloud("one", [verifying], [adds("one")]);
      route([adds("route")]);
      const forwarded = await ask();
      fixture.route({ traffic_policy: { enabled: true, value: policy([verifying], [adds("own")]) }, backend: null });
      const own = await ask();
      for (const [answer, by] of [
        [forwarded, "one, route"],
        [own, "own"],
      ] as const) {
        assert.deepEqual([answer.status, JSON.parse(answer.body.toString())], [200, { response_token }]);
        assert.equal(answer.headers["x-by"], by);
        const trace = await told(answer.id);
        assert.deepEqual([trace?.outcome, trace?.status], ["answered", 200]);
        assert.ok(trace?.steps.every(({ outcome }) => outcome !== "denied"));
      }
    });

    it(`a refusal at an internal endpoint over ${protocol} stays unchanged`, async () => {
      cloud("one", [action("deny", { status_code: 451 })]);
      route([adds("route")]);
      const answer = await fixture.ask(protocol);
      assert.deepEqual([answer.status, answer.headers["x-by"]], [451, undefined]);
      assert.equal((await explained()).outcome, "denied");
    });
  });
}
