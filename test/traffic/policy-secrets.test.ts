/** Secrets of vaults in traffic policies, on real traffic. */
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { host, startEdgeWithAgent } from "../support/edge-with-agent.ts";
import type { EdgeWithAgent } from "../support/edge-with-agent.ts";
import { protocols } from "../support/http-client.ts";
import type { Protocol } from "../support/http-client.ts";

let fixture: EdgeWithAgent;
before(async () => (fixture = await startEdgeWithAgent()));
after(() => fixture.stop());

const value = "correct horse";
const secret = (given: string, vault_id = "vault_1"): void =>
  fixture.put("secret", "secret_1", { name: "api/token", value: given, vault_id, vault_name: "" });
beforeEach(() => {
  fixture.put("vault", "vault_1", { name: "shop" });
  secret(value);
});

const rules = (...request: object[]): void =>
  fixture.route({ traffic_policy: { enabled: true, value: JSON.stringify({ on_http_request: request }) } });
const adding = (text: string) => ({ actions: [{ type: "add-headers", config: { headers: { "x-token": text } } }] });
const get = "secrets.get('shop', 'api/token')";

async function token(protocol: Protocol = "h1"): Promise<unknown> {
  const asked = await fixture.ask(protocol);
  return asked.status === 200 ? fixture.received.at(-1)?.headers["x-token"] : asked.headers["ngrok-error-code"];
}

describe("secrets in traffic policies", () => {
  for (const protocol of protocols) {
    it(`secrets in traffic policies are read in values and in expressions over ${protocol}`, async () => {
      rules(adding(`Bearer \${${get}}`), {
        expressions: [`getReqHeader('x-key').exists(k, k == ${get})`],
        actions: [{ type: "deny", config: { status_code: 418 } }],
      });
      assert.equal(await token(protocol), `Bearer ${value}`);
      assert.equal((await fixture.ask(protocol, { headers: { "x-key": value } })).status, 418);
    });
  }

  it("secrets in traffic policies have their new value immediately, without a change of the policy", async () => {
    rules(adding(`\${${get}}`));
    assert.equal(await token(), value);
    secret("battery staple");
    assert.equal(await token(), "battery staple");
  });

  it("secrets in traffic policies are those of the names that vaults have now", async () => {
    rules(adding(`\${${get}}`));
    fixture.put("vault", "vault_1", { name: "store" });
    assert.equal(await token(), errorCode("policy_interpolation_failed"));
    fixture.put("vault", "vault_2", { name: "shop" });
    secret("moved", "vault_2");
    assert.equal(await token(), "moved");
    fixture.edge.remove("secret", "secret_1");
    assert.equal(await token(), errorCode("policy_interpolation_failed"));
    fixture.edge.remove("vault", "vault_2");
  });

  it("P1: secrets in traffic policies are never those of another account", async () => {
    fixture.edge.put({ kind: "vault", id: "vault_9", account_id: "ac_9", doc: { name: "other" } });
    const doc = { name: "api/token", value: "theirs", vault_id: "vault_9", vault_name: "" };
    fixture.edge.put({ kind: "secret", id: "secret_9", account_id: "ac_9", doc });
    rules(adding("${secrets.get('other', 'api/token')}"));
    assert.equal(await token(), errorCode("policy_interpolation_failed"));
  });

  it("K4: no explanation shows secrets of traffic policies, or values made from them", async () => {
    rules({
      expressions: [
        `${get}.startsWith('correct')`,
        `${get}.upperAscii() != ''`,
        `secrets . get('shop', 'api/token').sha256() != ''`,
        `getReqHeader('x-key')[0] != 'a'`,
      ],
      actions: [{ type: "deny" }],
    });
    const told = await fixture.edge.question({
      name: "explain_request",
      accountId: "ac_1",
      siteId: "edghts_1",
      request: {
        method: "GET",
        host,
        target: "/",
        headers: [["x-key", `is ${value}`]],
        source: "192.0.2.1",
        body: "",
        response: { status: 200, headers: [], body: "" },
      },
    });
    const said = JSON.stringify(told);
    assert.match(said, /"\*\*\*"/);
    assert.match(said, /is \*\*\*/);
    assert.ok(!said.toLowerCase().includes(value), said);
    assert.ok(!said.includes("4104d36f"), said);
  });
});
