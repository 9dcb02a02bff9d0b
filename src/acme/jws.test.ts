import assert from "node:assert/strict";
import { createHash, createPublicKey, verify } from "node:crypto";
import { describe, it } from "node:test";
import { newKeyPair } from "../lib/certificates/x509.ts";
import { readAccountKey } from "./jws.ts";

const { privateKey } = await newKeyPair("ec");
const keyPem = privateKey.export({ type: "pkcs8", format: "pem" }) as string;
const key = readAccountKey(keyPem);

function open(text: string): { header: Record<string, unknown>; payload: string; isSigned: boolean } {
  const jws = JSON.parse(text) as { protected: string; payload: string; signature: string };
  const isSigned = verify(
    "sha256",
    Buffer.from(`${jws.protected}.${jws.payload}`),
    { key: createPublicKey(keyPem), dsaEncoding: "ieee-p1363" },
    Buffer.from(jws.signature, "base64url"),
  );
  const header = JSON.parse(Buffer.from(jws.protected, "base64url").toString()) as Record<string, unknown>;
  return { header, payload: Buffer.from(jws.payload, "base64url").toString(), isSigned };
}

describe("an ACME message", () => {
  const message = { url: "https://ca.example/x", nonce: "n-1" };

  it("an ACME message contains the key until there is an account, and then the account's URL", () => {
    const first = open(key.sign({ ...message, payload: { a: 1 } }));
    assert.ok(first.isSigned);
    const { jwk, ...rest } = first.header as { jwk: Record<string, string> };
    assert.deepEqual(rest, { alg: "ES256", nonce: "n-1", url: "https://ca.example/x" });
    assert.deepEqual(Object.keys(jwk), ["crv", "kty", "x", "y"]);
    assert.equal(createHash("sha256").update(JSON.stringify(jwk)).digest("base64url"), key.thumbprint);
    const later = open(key.sign({ ...message, accountUrl: "https://ca.example/account/1", payload: {} }));
    assert.ok(later.isSigned);
    assert.equal(later.header["kid"], "https://ca.example/account/1");
    assert.equal(later.header["jwk"], undefined);
    assert.equal(later.payload, "{}");
  });

  it("an ACME message has an empty payload if it only reads (RFC 8555 §6.3)", () => {
    assert.equal(open(key.sign(message)).payload, "");
  });

  it("an ACME message cannot be signed with another kind of key", async () => {
    const rsa = await newKeyPair("rsa");
    const pem = rsa.privateKey.export({ type: "pkcs8", format: "pem" }) as string;
    assert.throws(() => readAccountKey(pem), /not P-256/);
  });
});
