/** Traffic policies in the API before they are applied. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { startApi } from "../support/api.ts";
import type { TestApi } from "../support/api.ts";
import { databases } from "../support/postgres.ts";
import { policyExamples } from "../../src/policy/policy-examples.ts";

describe("policies that are checked", () => {
  let api: TestApi;
  before(async () => {
    api = await startApi(databases[0] as (typeof databases)[number]);
  });
  after(() => api.stop());
  const check = (body: object) => api.ok("POST", "/policies/check", body);

  it("policies that are checked have each fault at its line and column, with the code that a write would get", async () => {
    const policy = `on_http_request:\n  - expressions: ["req.url.pth == '/a'"]\n    actions:\n      - type: denied\n`;
    const { issues, explanation } = await check({ policy });
    assert.deepEqual(
      issues.map(({ line, error_code }: { line: number; error_code: string }) => [line, error_code]),
      [
        [2, errorCode("policy_expression_invalid")],
        [4, errorCode("policy_action_unknown")],
      ],
    );
    assert.equal(issues[0].column, 28);
    assert.match(issues[0].message, /did you mean "path"|req\.url\.path/);
    assert.equal(explanation, null);
  });

  it("policies that are checked report their effect on a request or connection, rule by rule", async () => {
    const [first] = policyExamples;
    const one = await check({ policy: first?.policy, source_ip: "198.51.100.7" });
    assert.deepEqual([one.issues, one.explanation.outcome, one.explanation.status_code], [[], "denied", 403]);
    assert.match(one.explanation.steps[0].rule.actions[0].reason, /denied by no network/);
    const other = await check({ policy: first?.policy, source_ip: "192.0.2.9", headers: { "x-a": "b" } });
    assert.deepEqual([other.explanation.outcome, other.explanation.response.status_code], ["forwarded", 200]);
    assert.ok(other.explanation.request_headers.some(({ name }: { name: string }) => name === "x-a"));
    const closed = await check({
      policy: "on_tcp_connect:\n  - actions: [{ type: deny }]",
      protocol: "tcp",
      source_ip: "192.0.2.9",
    });
    assert.equal(closed.explanation.outcome, "denied");
  });

  it("K4: policies that are checked see no secret and no IP policy of the account", async () => {
    const vault = await api.ok("POST", "/vaults", { name: "shop" });
    await api.ok("POST", "/vault_secrets", { vault_id: vault.id, name: "key", value: "not-to-be-told" });
    const policy = `on_http_request:\n  - actions: [{ type: add-headers, config: { headers: { x-a: "\${secrets.get('shop', 'key')}" } } }]\n`;
    assert.ok(!JSON.stringify(await check({ policy })).includes("not-to-be-told"));
    const { id } = await api.ok("POST", "/ip_policies", {});
    const named = `on_http_request:\n  - actions: [{ type: restrict-ips, config: { ip_policies: [${id}] } }]\n`;
    const { explanation } = await check({ policy: named });
    assert.deepEqual([explanation.outcome, explanation.status_code], ["failed", null]);
    assert.match(explanation.steps[0].reason, /objects of accounts are not available here/);
  });

  it("policies in an invalid body are refused as a body", async () => {
    const { status, body } = await api.request("POST", "/policies/check", {
      body: { policy: "{}", source_ip: "nobody" },
    });
    assert.equal(status, 400);
    assert.ok("source_ip" in body.details, JSON.stringify(body));
  });

  it("the policy language is described once for all phases, and its examples are valid", async () => {
    const language = await api.ok("GET", "/policies/language");
    const [request] = language.protocols.http;
    assert.equal(request.phase, "on_http_request");
    assert.ok(request.variables.some(({ name }: { name: string }) => name === "req.url.path"));
    for (const { policy, protocols } of language.examples) {
      const { issues, warnings } = await check({ policy, protocol: protocols[0] });
      assert.deepEqual([issues, warnings], [[], []]);
    }
  });
});
