import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { protocols } from "../support/http-client.ts";
import { startEdgeWithAgent } from "../support/edge-with-agent.ts";
import type { EdgeWithAgent } from "../support/edge-with-agent.ts";

let fixture: EdgeWithAgent;
before(async () => (fixture = await startEdgeWithAgent()));
after(() => fixture.stop());

const policy = (value: object | string) =>
  fixture.route({
    traffic_policy: { enabled: true, value: typeof value === "string" ? value : JSON.stringify(value) },
  });

for (const protocol of protocols) {
  describe(`a traffic policy over ${protocol}`, () => {
    it(`a traffic policy over ${protocol} refuses where its expressions hold, and nowhere else`, async () => {
      policy({
        on_http_request: [
          {
            expressions: ["req.url.path.startsWith('/admin/')", "!(req.method in ['GET', 'HEAD'])"],
            actions: [{ type: "deny", config: { status_code: 405 } }],
          },
        ],
      });
      const denied = await fixture.ask(protocol, { method: "POST", path: "/admin/x" });
      assert.deepEqual([denied.status, denied.body.length], [405, 0]);
      assert.equal((await fixture.ask(protocol, { path: "/admin/x" })).status, 200);
      assert.equal((await fixture.ask(protocol, { method: "POST", path: "/x" })).status, 200);
    });

    it(`a traffic policy over ${protocol} answers a request, and its response rules apply to that answer`, async () => {
      policy(`
on_http_request:
  - expressions: ["'2' in getReqHeader('X-Api-Version')"]
    actions: [{type: custom-response, config: {status_code: 400, body: "<h1>old \${req.method}</h1>"}}]
on_http_response:
  - actions: [{type: add-headers, config: {headers: {x-edge: "status \${res.status_code}"}}}]
`);
      const answered = await fixture.ask(protocol, { headers: { "x-api-version": "2" } });
      assert.deepEqual(
        [answered.status, answered.body.toString(), answered.headers["content-type"], answered.headers["x-edge"]],
        [400, "<h1>old GET</h1>", "text/html; charset=utf-8", "status 400"],
      );
      const passed = await fixture.ask(protocol);
      assert.deepEqual([passed.status, passed.headers["x-edge"]], [200, "status 200"]);
    });

    it(`a traffic policy over ${protocol} sends unquoted numbers and booleans as they are written`, async () => {
      policy(`
inbound:
  - actions: [{type: custom-response, config: {content: 4e2, headers: {x-retry: 30}}}]
`);
      const answered = await fixture.ask(protocol);
      assert.deepEqual([answered.body.toString(), answered.headers["x-retry"]], ["4e2", "30"]);
      policy(
        '{"on_http_request": [{"actions": [{"type": "add-headers", "config": {"headers": {"x-version": 1.10}}}]}]}',
      );
      await fixture.ask(protocol);
      assert.equal(fixture.received.at(-1)?.headers["x-version"], "1.10");
      policy(`
on_http_request:
  - actions: [{type: add-headers, config: {headers: {x-version: 1.10, x-id: 007, x-long: 123456789012345678901, x-debug: True}}}]
`);
      await fixture.ask(protocol);
      const { headers } = fixture.received.at(-1) ?? assert.fail("nothing arrived");
      assert.deepEqual(
        ["x-version", "x-id", "x-long", "x-debug"].map((name) => headers[name]),
        ["1.10", "007", "123456789012345678901", "True"],
      );
    });

    it(`a traffic policy over ${protocol} accepts a password that is an unquoted number`, async () => {
      policy(
        "on_http_request: [{actions: [{type: basic-auth, config: {credentials: [{username: 7, password: 0123456789}]}}]}]",
      );
      const as = (text: string) => ({ headers: { authorization: `Basic ${Buffer.from(text).toString("base64")}` } });
      assert.equal((await fixture.ask(protocol, as("7:0123456789"))).status, 200);
      assert.equal((await fixture.ask(protocol, as("7:123456789"))).status, 401);
    });

    it("never lets a value break a message: values with line breaks are not sent", async () => {
      policy({
        on_http_request: [
          {
            actions: [{ type: "add-headers", config: { headers: { "x-a": "${getQueryParam('v').join(',')}" } } }],
          },
        ],
      });
      const before = fixture.received.length;
      const broken = await fixture.ask(protocol, { path: "/?v=a%0d%0ax-injected:%201" });
      assert.deepEqual(
        [broken.status, broken.headers["ngrok-error-code"]],
        [500, errorCode("policy_interpolation_failed")],
      );
      assert.equal(fixture.received.length, before);
      await fixture.ask(protocol, { path: "/?v=%C3%A9%20a" });
      assert.equal(fixture.received.at(-1)?.headers["x-a"], "%C3%A9 a");
    });

    it("never exceeds its budget: an expression without end refuses the request", async () => {
      policy({
        on_http_request: [
          {
            expressions: ["lists.range(1000).all(a, lists.range(1000).all(b, b >= 0))"],
            actions: [{ type: "log", config: { metadata: { a: "b" } } }],
          },
        ],
      });
      const refused = await fixture.ask(protocol);
      assert.equal(refused.status, 503);
      assert.match(refused.body.toString(), new RegExp(errorCode("policy_limit_reached")));
    });

    it("reaches no prototype, and no pattern that takes longer than linear time", async () => {
      policy({
        on_http_request: [
          { expressions: ["json.decode(getQueryParam('j')[0]).__proto__ != null"], actions: [{ type: "deny" }] },
          { expressions: ["has(vars.constructor) || has(vars.toString)"], actions: [{ type: "deny" }] },
          { expressions: ["getQueryParam('r')[0].matches(getQueryParam('p')[0])"], actions: [{ type: "deny" }] },
        ],
      });
      const path = `/?j={}&r=${"a".repeat(3000)}!&p=${encodeURIComponent("^(a+)+$")}`;
      assert.equal((await fixture.ask(protocol, { path })).status, 200);
    });

    it(`a traffic policy over ${protocol} distinguishes clients by their JA4, and supports names of older policies`, async () => {
      policy({
        on_http_request: [
          {
            expressions: ["conn.TLS.SNI == req.Host", "req.ts.header_received >= conn.ts.start"],
            actions: [
              {
                type: "add-headers",
                config: {
                  headers: { "x-ja4": "${conn.tls.ja4_fingerprint}", "x-alpn": "${conn.tls.negotiated_alpn}" },
                },
              },
            ],
          },
        ],
      });
      await fixture.ask(protocol);
      const seen = fixture.received.at(-1)?.headers;
      assert.match(String(seen?.["x-ja4"]), /^t13d\d{4}h[12]_[0-9a-f]{12}_[0-9a-f]{12}$/);
      assert.equal(seen?.["x-alpn"], protocol === "h2" ? "h2" : "http/1.1");
    });

    it("rewrites the forwarded request, in canonical form", async () => {
      const to = (target: string): void =>
        policy({
          on_http_request: [
            { actions: [{ type: "url-rewrite", config: { from: "^https?://[^/]+/a(.*)$", to: target } }] },
            { actions: [{ type: "add-headers", config: { headers: { "x-url": "${req.url.path}" } } }] },
          ],
        });
      to("/b/../c$1?n=1");
      await fixture.ask(protocol, { path: "/a/x" });
      assert.equal(fixture.received.at(-1)?.url, "/c/x?n=1");
      assert.equal(fixture.received.at(-1)?.headers["x-url"], "/c/x");
      to("https://other.example.com/z");
      await fixture.ask(protocol, { path: "/a" });
      assert.deepEqual(
        [fixture.received.at(-1)?.url, fixture.received.at(-1)?.headers["host"]],
        ["/z", "other.example.com"],
      );
      to("/x%2fy");
      const before = fixture.received.length;
      assert.equal((await fixture.ask(protocol, { path: "/a" })).status, 500, "a path that servers read differently");
      assert.equal(fixture.received.length, before);
    });

    it("trips a circuit, and closes it again by a probe", async () => {
      policy({
        on_http_request: [
          { actions: [{ type: "circuit-breaker", config: { volume_threshold: 2, tripped_duration: "5s" } }] },
        ],
      });
      fixture.answer((_request, response) => response.writeHead(500).end());
      for (let count = 0; count < 2; count += 1) assert.equal((await fixture.ask(protocol)).status, 500);
      assert.equal((await fixture.ask(protocol)).status, 503);
      fixture.answer(undefined);
      fixture.clock.move(5001);
      assert.equal((await fixture.ask(protocol)).status, 200);
      assert.equal((await fixture.ask(protocol)).status, 200);
      fixture.clock.move(60_000);
    });

    it("lets actions of one rule read the results of earlier ones", async () => {
      policy({
        on_http_request: [
          {
            actions: [
              { type: "set-vars", config: { vars: [{ a: { b: ["${req.method}"] } }, { c: "${vars.a.b[0]}!" }] } },
              { type: "restrict-ips", config: { enforce: false, deny: ["127.0.0.0/8"], allow: ["0.0.0.0/0"] } },
              {
                type: "add-headers",
                config: { headers: { "x-vars": "${vars}", "x-ip": "${actions.ngrok.restrict_ips}", "x-m": "$${a}$1" } },
              },
            ],
          },
        ],
      });
      await fixture.ask(protocol);
      const seen = fixture.received.at(-1)?.headers;
      assert.equal(seen?.["x-vars"], '{"a":{"b":["GET"]},"c":"GET!"}');
      assert.equal(seen?.["x-ip"], '{"action":"deny","matched_cidr":"127.0.0.0/8"}');
      assert.equal(seen?.["x-m"], "${a}$1");
    });

    it(`a traffic policy over ${protocol} does nothing while it is not enabled`, async () => {
      policy("enabled: false\non_http_request: [{actions: [{type: deny}]}]");
      assert.equal((await fixture.ask(protocol)).status, 200);
    });

    it("adds its knowledge to requests", async () => {
      policy({
        on_http_request: [
          {
            actions: [
              {
                type: "add-headers",
                config: { headers: { "x-client": "${conn.client_ip}", "x-seen": "${req.method} ${req.url.path}" } },
              },
            ],
          },
        ],
      });
      await fixture.ask(protocol, { path: "/a" });
      const seen = fixture.received.at(-1)?.headers;
      assert.deepEqual([seen?.["x-client"], seen?.["x-seen"]], ["127.0.0.1", "GET /a"]);
    });
  });
}

describe("rules of a policy in explanations", () => {
  const rules = async () => {
    const told = await fixture.edge.question({
      name: "explain_request",
      accountId: "ac_1",
      siteId: "edghts_1",
      request: {
        method: "GET",
        host: "app.example.com",
        target: "/",
        headers: [["x-tier", "gold"]],
        source: "192.0.2.1",
        body: "",
        response: { status: 200, headers: [], body: "" },
      },
    });
    assert.equal(told.name, "explanation");
    return told.explanation.steps.flatMap(({ rule }) => (rule ? [[rule.index, rule.matched, rule.failed]] : []));
  };
  const counted = (tier: string, value: string) => ({
    on_http_request: [
      {
        expressions: [`req.headers['x-tier'][0] == '${tier}'`],
        actions: [{ type: "add-headers", config: { headers: { "x-a": value } } }],
      },
      { actions: [{ type: "log", config: { metadata: { a: "b" } } }] },
    ],
  });

  it("rules of a policy in explanations have counts of matches and failures, until their conditions change", async () => {
    policy(counted("gold", "1"));
    for (const headers of [{ "x-tier": "gold" }, { "x-tier": "gold" }, { "x-tier": "tin" }, {}]) {
      await fixture.ask("h1", { headers });
    }
    const wanted = [
      [0, 2, 1],
      [1, 4, 0],
    ];
    assert.deepEqual(await rules(), wanted);
    assert.deepEqual(await rules(), wanted, "a dry run was counted");
    policy(counted("gold", "2"));
    assert.deepEqual(await rules(), wanted, "the counts went with an action");
    policy(counted("silver", "2"));
    assert.deepEqual(await rules(), [
      [0, 0, 0],
      [1, 0, 0],
    ]);
  });

  it("rules of a policy in explanations have failed if an action could not be executed", async () => {
    policy({
      on_http_request: [
        { actions: [{ type: "add-headers", config: { headers: { "x-a": "${req.headers['x-none'][0]}" } } }] },
      ],
    });
    assert.equal((await fixture.ask("h1")).status, 500);
    assert.deepEqual(await rules(), [[0, 1, 1]]);
  });
});
