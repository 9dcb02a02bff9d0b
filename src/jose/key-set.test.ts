import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { describe, it } from "node:test";
import { issuers, jwkOf } from "../../test/support/tokens.ts";
import { maxKeys, readKeySet } from "./key-set.ts";

const read = (...keys: readonly unknown[]) => readKeySet(Buffer.from(JSON.stringify({ keys })));
const rsaOf = (options: { modulusLength: number; publicExponent?: number }): object =>
  generateKeyPairSync("rsa", options).publicKey.export({ format: "jwk" });

describe("a key set", () => {
  it("a key set returns the keys that verify signatures, with their names", () => {
    const keys = read(
      jwkOf("RS256", { kid: "a", use: "sig", alg: "RS256" }),
      jwkOf("ES512"),
      jwkOf("EdDSA", { key_ops: ["verify"] }),
    );
    assert.deepEqual(
      keys.map(({ id, algorithm, kind }) => [id, algorithm, kind]),
      [
        ["a", "RS256", "rsa"],
        [undefined, undefined, "secp521r1"],
        [undefined, undefined, "ed25519"],
      ],
    );
  });

  it("a key set skips keys with another purpose, unknown keys and unfit keys", () => {
    const point = jwkOf("ES256") as { x: string };
    const unfit: readonly unknown[] = [
      null,
      1,
      "key",
      [],
      {},
      { kty: "oct", k: "c2VjcmV0" },
      { kty: "rsa" },
      { kty: "RSA" },
      { kty: "EC", crv: "P-256", x: "AA", y: "AA" },
      { ...point, y: point.x },
      { ...point, crv: "P-384" },
      { kty: "OKP", crv: "X25519", x: "AA" },
      { kty: "OKP", crv: "Ed25519", x: "AA" },
      jwkOf("RS256", { use: "enc" }),
      jwkOf("RS256", { key_ops: ["encrypt"] }),
      jwkOf("RS256", { key_ops: "verify" }),
      jwkOf("RS256", { kid: 1 }),
      jwkOf("RS256", { alg: 1 }),
      issuers.RS256.privateKey.export({ format: "jwk" }),
      issuers.ES256.privateKey.export({ format: "jwk" }),
      rsaOf({ modulusLength: 1024 }),
      { ...jwkOf("RS256"), e: "AQ" },
      { ...jwkOf("RS256"), e: "AQAA" },
      { ...jwkOf("RS256"), e: Buffer.alloc(256, 0xff).toString("base64url") },
      { ...jwkOf("RS256"), n: Buffer.alloc(8192, 0xff).toString("base64url") },
    ];
    for (const one of unfit) {
      const found = read(one, jwkOf("ES384", { kid: "good" }));
      assert.deepEqual(
        found.map(({ id }) => id),
        ["good"],
        JSON.stringify(one)?.slice(0, 200),
      );
    }
  });

  it("a key set is read up to its hundredth key", () => {
    const many = Array.from({ length: maxKeys + 50 }, (_, index) => jwkOf("EdDSA", { kid: String(index) }));
    assert.equal(read(...many).length, maxKeys);
  });
});
