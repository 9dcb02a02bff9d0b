import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FieldBlock } from "../../lib/field-block.ts";
import { exchangeOf } from "../../../test/support/exchange.ts";
import { ada, guarded } from "../../../test/support/guarded.ts";
import { unknownIdentity, tidyIdentity } from "../calls/identity.ts";
import { upstreamFields } from "./upstream-fields.ts";
import { everybody } from "../sessions/login-verdict.ts";

const odd = [
  " ",
  "  ",
  "Ada ",
  " Ada",
  "Ada\t",
  "Ada\r\nx: y",
  "\0",
  "Ada\u00a0",
  "\ufeff",
  "\ud800",
  "é ",
  "%",
  ",",
  "a,b ",
  "\u0085",
  "\u2028",
  "x".repeat(100_000),
];

describe("header fields about a visitor", () => {
  it("P4: header fields about a visitor can always be sent, whatever the provider returns", () => {
    for (const text of odd) {
      const identity = { ...unknownIdentity, subject: text, name: text, email: text, memberships: [text] };
      for (const lists of [
        { ...everybody, groups: new Set(odd) },
        { ...everybody, organizations: new Set(odd) },
      ]) {
        for (const one of [identity, tidyIdentity(identity)]) {
          assert.doesNotThrow(() => new FieldBlock(upstreamFields(lists, one, undefined)), JSON.stringify(text));
        }
      }
    }
  });

  it("P4: header fields about a visitor distinguish subjects and groups that differ in white space", () => {
    const fieldsOf = (text: string) =>
      upstreamFields(
        { ...everybody, groups: new Set([text]) },
        { ...unknownIdentity, subject: text, memberships: [text] },
        undefined,
      );
    assert.deepEqual(fieldsOf("ada "), ["ngrok-auth-user-id", "ada%20", "postern-auth-groups", "ada%20"]);
    assert.deepEqual(fieldsOf("ada"), ["ngrok-auth-user-id", "ada", "postern-auth-groups", "ada"]);
  });

  it("header fields about a visitor contain the provider's tokens unchanged", () => {
    const tokens = { access: "a%2Fb|c,d", refresh: "r%" };
    const fields = upstreamFields(everybody, { ...unknownIdentity, subject: "1" }, tokens);
    assert.deepEqual(fields.slice(2), [
      "ngrok-auth-oauth-access-token",
      tokens.access,
      "ngrok-auth-oauth-refresh-token",
      "r%",
    ]);
  });

  it("I5: admits visitors with blanks around what the provider calls them, with the texts trimmed", async () => {
    for (const [told, expected] of [
      [{ name: " Ada " }, { name: "Ada" }],
      [{ name: "Ada\r\nL." }, { name: "Ada L." }],
      [{ email: "ada@example.com " }, { email: "ada@example.com", emailVerified: true }],
      [{ email: "ada@exam ple.com" }, { email: "", emailVerified: false }],
      [{ email: `${"a".repeat(400)}@example.com` }, { email: "", emailVerified: false }],
      [{ subject: "1 " }, { subject: "1 " }],
    ] as const) {
      const identity = { ...ada, ...told };
      assert.deepEqual({ ...tidyIdentity(identity), ...expected }, tidyIdentity(identity), JSON.stringify(told));
      // As in a session of an older version.
      const { site, loginCookies } = guarded({}, { identity });
      const module = site?.findRoute("/", "app.example.com")?.request[0];
      assert.ok(module?.request);
      const step = await module.request(exchangeOf({ loginCookies }));
      assert.equal(step?.outcome, "changed", step?.reason);
    }
  });
});
