import assert from "node:assert/strict";
import { createPublicKey, generateKeyPairSync } from "node:crypto";
import { describe, it } from "node:test";
import { makeToken } from "../../../test/support/tokens.ts";
import { keysOf } from "../../jose/key-set.ts";
import { verifyIdToken } from "./id-token.ts";

const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const jwk = { ...createPublicKey(privateKey).export({ format: "jwk" }), kid: "k", use: "sig" };
const keys = { keysFor: async () => keysOf({ keys: [jwk] }) };
const now = 1_800_000_000;

describe("times in an id_token", () => {
  it("I1: times in an id_token may differ from the local clock by the configured tolerance, and by no more", async () => {
    const taken = async (skewSeconds: number, times: object): Promise<boolean> => {
      const claims = { iss: "https://id.example", aud: "c", sub: "ada", iat: now, exp: now + 300, ...times };
      const token = makeToken("ES256", claims, { kid: "k" }, { privateKey });
      return await verifyIdToken(token, keys, {
        issuer: "https://id.example",
        clientId: "c",
        nonce: undefined,
        accessToken: "",
        algorithms: ["ES256"],
        nowMs: now * 1_000,
        skewSeconds,
      }).then(
        () => true,
        () => false,
      );
    };
    for (const skew of [0, 60, 300]) {
      const within = [{ exp: now - skew + 1 }, { iat: now + skew }, { nbf: now + skew }, { iat: now - 600 - skew }];
      const beyond = [
        { exp: now - skew - 1 },
        { iat: now + skew + 1 },
        { nbf: now + skew + 1 },
        { iat: now - 601 - skew },
      ];
      for (const times of within) assert.ok(await taken(skew, times), `${skew} ${JSON.stringify(times)}`);
      for (const times of beyond) assert.ok(!(await taken(skew, times)), `${skew} ${JSON.stringify(times)}`);
    }
  });
});
