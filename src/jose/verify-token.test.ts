import assert from "node:assert/strict";
import { constants, generateKeyPairSync, sign } from "node:crypto";
import { describe, it } from "node:test";
import { base64url, issuers, jwkOf, makeSharedSecretToken, makeToken } from "../../test/support/tokens.ts";
import { signatureAlgorithms } from "./algorithms.ts";
import type { SignatureAlgorithm } from "./algorithms.ts";
import { readSignedToken } from "./compact.ts";
import { readKeySet } from "./key-set.ts";
import type { PublicKey } from "./key-set.ts";
import { verifyToken } from "./verify-token.ts";

const payload = { sub: "u1" };
const keySet = (...keys: readonly unknown[]): readonly PublicKey[] => readKeySet(Buffer.from(JSON.stringify({ keys })));
const verdict = (
  token: string,
  keys: readonly PublicKey[],
  allowed: readonly SignatureAlgorithm[] = signatureAlgorithms,
) => verifyToken(readSignedToken(token), allowed, keys);

/** Algorithms that use the same kind of key. */
const family = (algorithm: SignatureAlgorithm): string =>
  algorithm.startsWith("RS") || algorithm.startsWith("PS") ? "RSA" : algorithm;

describe("a token's signature", () => {
  for (const algorithm of signatureAlgorithms) {
    const keys = keySet(jwkOf(algorithm));

    it(`${algorithm}: only the issuer's key verifies the signature`, async () => {
      const token = makeToken(algorithm, payload);
      assert.equal(await verdict(token, keys), "verified");
      const options = {
        modulusLength: 2048,
        namedCurve: issuers[algorithm].publicKey.asymmetricKeyDetails?.namedCurve,
      };
      const type = issuers[algorithm].publicKey.asymmetricKeyType as "rsa";
      const other = generateKeyPairSync(type, options as { modulusLength: number });
      const otherKeys = keySet(other.publicKey.export({ format: "jwk" }));
      assert.equal(await verdict(token, otherKeys), "signature");
      assert.equal(await verdict(token, [...otherKeys, ...keys]), "verified", "the second is tried too");
      assert.equal(await verdict(makeToken(algorithm, payload, {}, other), keys), "signature");
    });

    it(`${algorithm}: the signature covers every bit of header, payload and signature`, async () => {
      const token = makeToken(algorithm, payload);
      const [head, body, signature] = token.split(".") as [string, string, string];
      const other = base64url({ sub: "u2" });
      assert.equal(await verdict(`${head}.${other}.${signature}`, keys), "signature");
      const longer = base64url({ alg: algorithm, x: 1 });
      assert.equal(await verdict(`${longer}.${body}.${signature}`, keys), "signature");
      const bytes = Buffer.from(signature, "base64url");
      for (const at of [0, bytes.length >> 1, bytes.length - 1]) {
        const changed = Buffer.from(bytes);
        changed[at] = (changed[at] as number) ^ 1;
        assert.equal(await verdict(`${head}.${body}.${changed.toString("base64url")}`, keys), "signature");
      }
      for (const forged of [
        Buffer.alloc(0),
        bytes.subarray(1),
        bytes.subarray(0, -1),
        Buffer.concat([bytes, Buffer.alloc(1)]),
        Buffer.alloc(bytes.length),
        Buffer.alloc(bytes.length, 0xff),
      ]) {
        assert.equal(await verdict(`${head}.${body}.${forged.toString("base64url")}`, keys), "signature");
      }
    });

    it(`${algorithm}: the signature is not checked if the caller does not allow the algorithm`, async () => {
      const others = signatureAlgorithms.filter((one) => one !== algorithm);
      assert.equal(await verdict(makeToken(algorithm, payload), keys, others), "algorithm");
      assert.equal(await verdict(makeToken(algorithm, payload), keys, []), "algorithm");
    });

    it(`${algorithm}: keys of another kind or for another algorithm do not verify the signature`, async () => {
      const token = makeToken(algorithm, payload);
      for (const other of signatureAlgorithms) {
        const isAlike = family(other) === family(algorithm);
        assert.equal(await verdict(token, keySet(jwkOf(other))), isAlike ? "verified" : "no_key", other);
        const bound = await verdict(token, keySet(jwkOf(other, { alg: other })));
        assert.equal(bound, other === algorithm ? "verified" : "no_key", other);
      }
    });

    it(`${algorithm}: a token that names a different algorithm is refused`, async () => {
      for (const other of signatureAlgorithms) {
        if (other === algorithm) continue;
        const token = makeToken(algorithm, payload, { alg: other });
        assert.notEqual(
          await verdict(token, keySet(...signatureAlgorithms.map((one) => jwkOf(one)))),
          "verified",
          other,
        );
      }
    });
  }

  it("I1: a token's signature fails for algorithms without a public key, whatever the secret and the spelling", async () => {
    const keys = keySet(...signatureAlgorithms.map((one) => jwkOf(one)), { kty: "oct", k: base64url("secret") });
    const everything = [...signatureAlgorithms, "HS256", "none"] as SignatureAlgorithm[];
    const { publicKey } = issuers.RS256;
    for (const secret of [
      "",
      "secret",
      publicKey.export({ format: "pem", type: "spki" }),
      publicKey.export({ format: "der", type: "spki" }),
      publicKey.export({ format: "pem", type: "pkcs1" }),
      JSON.stringify(jwkOf("RS256")),
    ]) {
      assert.equal(await verdict(makeSharedSecretToken(payload, secret), keys, everything), "algorithm");
    }
    for (const alg of [
      "none",
      "None",
      "NONE",
      "nOnE",
      "",
      "rs256",
      "RS256 ",
      "RS1",
      "ES256K",
      "HS512",
      "__proto__",
      "constructor",
    ]) {
      const head = base64url({ alg });
      const signature = makeToken("RS256", payload).split(".")[2] as string;
      for (const last of ["", signature]) {
        assert.equal(await verdict(`${head}.${base64url(payload)}.${last}`, keys, everything), "algorithm", alg);
      }
    }
  });

  it("a token's signature is checked with the key that the token names, among the issuer's keys only", async () => {
    const keys = keySet(jwkOf("RS256", { kid: "one" }), jwkOf("ES256", { kid: "two" }), jwkOf("EdDSA"));
    assert.equal(await verdict(makeToken("RS256", payload, { kid: "one" }), keys), "verified");
    assert.equal(await verdict(makeToken("ES256", payload, { kid: "two" }), keys), "verified");
    assert.equal(await verdict(makeToken("ES256", payload), keys), "verified");
    assert.equal(await verdict(makeToken("EdDSA", payload), keys), "verified");
    assert.equal(await verdict(makeToken("RS256", payload, { kid: "two" }), keys), "no_key");
    for (const kid of ["three", "", "One", "../one", "one\0", "__proto__"]) {
      assert.equal(await verdict(makeToken("RS256", payload, { kid }), keys), "no_key", kid);
    }
    const twins = keySet(jwkOf("ES384", { kid: "one" }), jwkOf("RS256", { kid: "one" }));
    assert.equal(await verdict(makeToken("RS256", payload, { kid: "one" }), twins), "verified");
  });

  it("I1: a token's signature is not checked with a key inside the token", async () => {
    const other = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const jwk = other.publicKey.export({ format: "jwk" });
    const keys = keySet(jwkOf("RS256", { kid: "one" }));
    for (const header of [
      { jwk },
      { jwk: { ...jwk, kid: "one" }, kid: "one" },
      { jku: "https://attacker.example.test/jwks.json" },
      { x5u: "https://attacker.example.test/cert.pem", x5c: ["MIIB"] },
    ]) {
      assert.equal(await verdict(makeToken("RS256", payload, header, other), keys), "signature");
      assert.equal(await verdict(makeToken("RS256", payload, header), keys), "verified", "they are not looked at");
    }
  });

  it("a token's RSA-PSS signature has a salt of the digest's length", async () => {
    const keys = keySet(jwkOf("PS256"));
    const signed = `${base64url({ alg: "PS256" })}.${base64url(payload)}`;
    for (const saltLength of [0, 20, 31, 33, constants.RSA_PSS_SALTLEN_MAX_SIGN]) {
      const key = { key: issuers.PS256.privateKey, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength };
      const signature = sign("sha256", Buffer.from(signed), key).toString("base64url");
      assert.equal(await verdict(`${signed}.${signature}`, keys), "signature", String(saltLength));
    }
  });

  it("a token's ECDSA signature is refused in DER encoding", async () => {
    const signed = `${base64url({ alg: "ES256" })}.${base64url(payload)}`;
    const signature = sign("sha256", Buffer.from(signed), issuers.ES256.privateKey).toString("base64url");
    assert.equal(await verdict(`${signed}.${signature}`, keySet(jwkOf("ES256"))), "signature");
  });

  it("a token's Ed448 signature has the algorithm name EdDSA", async () => {
    const pair = generateKeyPairSync("ed448");
    const token = makeToken("EdDSA", payload, {}, pair);
    assert.equal(await verdict(token, keySet(pair.publicKey.export({ format: "jwk" }))), "verified");
  });

  it("a token's signature is checked with at most ten keys", async () => {
    const wrong = Array.from({ length: 10 }, () => generateKeyPairSync("ed25519").publicKey.export({ format: "jwk" }));
    const token = makeToken("EdDSA", payload);
    assert.equal(await verdict(token, keySet(...wrong.slice(1), jwkOf("EdDSA"))), "verified");
    assert.equal(await verdict(token, keySet(...wrong, jwkOf("EdDSA"))), "signature");
  });
});

describe("RFC 7515's examples", () => {
  it("A.2 (RS256) and A.3 (ES256) verify", async () => {
    const body = "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
    const elliptic = keySet({
      kty: "EC",
      crv: "P-256",
      x: "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
      y: "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
    });
    const signature = "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";
    assert.equal(await verdict(`eyJhbGciOiJFUzI1NiJ9.${body}.${signature}`, elliptic), "verified");
    const plainRsa = keySet({
      kty: "RSA",
      n: "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ",
      e: "AQAB",
    });
    const rsaSignature =
      "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw";
    assert.equal(await verdict(`eyJhbGciOiJSUzI1NiJ9.${body}.${rsaSignature}`, plainRsa), "verified");
  });
});
