/** Explanations must not show any value that was derived from a secret. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { exchangeOf } from "../../test/support/exchange.ts";
import { policyOutcome } from "../../test/support/policy-outcome.ts";

const secret = "s3cret-value";
const get = "secrets.get('v', 'n')";
const deny = [{ type: "deny" }];
const action = (type: string, config: object): object => ({ actions: [{ type, config }] });
const when = (expression: string): object => ({ expressions: [expression], actions: deny });

async function shown(...rules: readonly object[]): Promise<string> {
  const exchange = exchangeOf({ headers: { "x-tier": "gold" }, target: "/path" });
  const services = { secret: () => secret };
  const { steps } = await policyOutcome({ on_http_request: rules }, exchange, services, true);
  return JSON.stringify(
    steps.map(({ reason, rule }) => [reason, rule?.values.map(({ outcome, parts }) => [outcome, parts])]),
  );
}

/** Neither the secret, nor a digest of it, nor a part from which it could be reassembled. */
const traces = [
  secret,
  Buffer.from(secret).toString("base64"),
  "dmFsdWU",
  "s3cret",
  "eulav-terc3s",
  "S3CRET",
  Buffer.from(secret).toString("hex"),
];

const hidden: Readonly<Record<string, readonly object[]>> = {
  "a variable": [
    action("set-vars", { vars: [{ a: `\${${get}.encodeBase64()}` }] }),
    when("vars.a.decodeBase64().reverse() == 'x'"),
  ],
  "a variable that is read by its name in brackets": [
    action("set-vars", { vars: [{ a: `\${${get}}` }] }),
    when("vars['a'].upper() == 'x'"),
  ],
  "a variable made of a variable": [
    action("set-vars", { vars: [{ a: `\${${get}}` }, { b: { c: ["${vars.a.substring(0, 6)}"] } }] }),
    when("vars.b.c[0].upper() == 'x' || vars.b.c.map(x, x + '!') == []"),
  ],
  "all variables": [action("set-vars", { vars: [{ a: `\${${get}}` }] }), when("vars.encodeJson().reverse() == 'x'")],
  "a variable of a loop": [when(`[${get}].map(x, x.reverse()).exists(y, y.upper() == 'x')`)],
  "a header field": [
    action("add-headers", { headers: { authorization: `Basic \${('u:' + ${get}).encodeBase64()}` } }),
    when("getReqHeader('Authorization')[0].substring(6).decodeBase64().upper() == 'x'"),
    when("req.headers['authorization'][0].reverse() == 'x'"),
  ],
  "a rewritten URL": [
    action("url-rewrite", { from: "^.*$", to: `/\${${get}}` }),
    when("req.url.path.upper() == 'x' || req.url.reverse() == 'x'"),
  ],
  "what an action leaves": [
    action("add-headers", { headers: { "x-a": `\${${get}}` } }),
    when("actions.ngrok.add_headers.headers_added['x-a'].reverse() == 'x'"),
  ],
  "the key of a limit": [
    action("rate-limit", { name: "a", algorithm: "sliding_window", capacity: 1, rate: "60s", bucket_key: [get] }),
    when("actions.ngrok.rate_limit.bucket_key.upper() == 'x'"),
  ],
  "a failure": [action("set-vars", { vars: [{ a: `\${${get}}` }] }), when("{'a': 1}[vars.a.upper()] == 1")],
};

describe("explanations of rules with secrets", () => {
  for (const [what, rules] of Object.entries(hidden)) {
    it(`K4: an explanation does not show values derived from a secret through ${what}`, async () => {
      const text = await shown(...rules);
      for (const trace of traces) assert.ok(!text.includes(trace), text);
      assert.match(text, /\*\*\*/);
    });
  }

  it("an explanation shows values unrelated to a secret, beside those derived from it", async () => {
    const text = await shown(
      action("set-vars", { vars: [{ a: `\${${get}}` }, { b: "plain" }] }),
      action("add-headers", { headers: { "x-a": "${vars.a}" } }),
      when("vars.b.upper() == 'x' || getReqHeader('x-tier')[0].upper() == 'x' || req.url.path.upper() == 'x'"),
    );
    for (const value of ["PLAIN", "GOLD", "/PATH"]) assert.ok(text.includes(value), text);
  });

  it("D8: an explanation omits values that are too large to read", async () => {
    const vars = [{ a: ["x"] }, ...Array.from({ length: 40 }, () => ({ a: ["${vars.a}", "${vars.a}"] }))];
    const text = await shown(action("set-vars", { vars }), when("size(vars.a) == 3"));
    assert.match(text, /too large to show/);
  });
});
