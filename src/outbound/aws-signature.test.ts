import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { signatureFault } from "../../test/support/sigv4.ts";
import { signHeaders } from "./aws-signature.ts";

/** From Amazon's test suite for signature version 4: name, headers and body of a POST to `/`, and its signature. */
const published = [
  {
    name: "post-vanilla",
    headers: {},
    body: "",
    signature: "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
  },
  {
    name: "post-x-www-form-urlencoded",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: "Param1=value1",
    signature: "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
  },
] as const;

const keys = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY" };
const scope = { region: "us-east-1", service: "service" };
const nowMs = Date.parse("2015-08-30T12:36:00Z");
const url = new URL("https://example.amazonaws.com/");

describe("signatures for AWS", () => {
  for (const { name, headers, body, signature } of published) {
    it(`signatures for AWS match the published example ${name}`, async () => {
      const signed = await signHeaders({ url, ...scope, keys, headers, body, nowMs });
      assert.match(signed["authorization"] ?? "", new RegExp(`Signature=${signature}$`));
      const request = { method: "POST", target: "/", headers: { ...signed, host: url.host }, body };
      assert.equal(signatureFault(request, { ...keys, ...scope, nowMs }), undefined);
      assert.match(String(signatureFault({ ...request, body: "x" }, { ...keys, ...scope, nowMs })), /should be/);
    });
  }

  it("signatures for AWS cover a session token", async () => {
    const sessionToken = "lent";
    const signed = await signHeaders({
      url,
      ...scope,
      keys: { ...keys, sessionToken },
      headers: {},
      body: "",
      nowMs,
    });
    const request = { method: "POST", target: "/", headers: { ...signed, host: url.host }, body: "" };
    assert.equal(signatureFault(request, { ...keys, sessionToken, ...scope, nowMs }), undefined);
    assert.match(String(signatureFault(request, { ...keys, ...scope, nowMs })), /session token/);
  });
});
