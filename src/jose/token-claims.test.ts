import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { checkClaims, tokenTypes } from "./token-claims.ts";
import type { ClaimFault, ExpectedClaims } from "./token-claims.ts";

const nowMs = 1_800_000_000_000;
const now = nowMs / 1000;
const iss = "https://idp.example.test/";
const expected: ExpectedClaims = { issuers: [iss, "other"], audiences: ["shop", "desk"], types: tokenTypes.jwt };
const good = { iss, aud: "shop", exp: now + 3600 };

const check = (change: object, more: Partial<ExpectedClaims> = {}, header: Record<string, unknown> = {}) =>
  checkClaims({ header, payload: { ...good, ...change } }, { ...expected, ...more }, nowMs);

type Row = readonly [change: Readonly<Record<string, unknown>>, fault: ClaimFault | undefined];

const families: Readonly<Record<string, readonly Row[]>> = {
  issuers: [
    [{}, undefined],
    [{ iss: "other" }, undefined],
    ...[
      undefined,
      null,
      "",
      iss.slice(0, -1),
      `${iss}/`,
      iss.toUpperCase(),
      ` ${iss}`,
      [iss],
      { 0: iss },
      1,
      `${iss}\0`,
    ].map((one): Row => [{ iss: one }, "issuer"]),
  ],
  audiences: [
    ...["shop", "desk", ["shop"], ["x", "desk"], Array(100).fill("shop")].map((aud): Row => [{ aud }, undefined]),
    ...[undefined, null, "", "Shop", "shop ", "shop,desk", [], ["x"], [["shop"]], ["shop", 1], { shop: 1 }, 1].map(
      (aud): Row => [{ aud }, "audience"],
    ),
  ],
  ends: [
    [{ exp: now + 1 }, undefined],
    [{ exp: now + 0.5 }, undefined],
    [{ exp: now - 59 }, undefined],
    [{ exp: now - 60 }, "expired"],
    [{ exp: 0 }, "expired"],
    [{ exp: Number.MAX_VALUE }, undefined],
    [{ exp: undefined }, "no_expiry"],
    ...[null, String(now + 3600), Number.NaN, Infinity, -1, [now], {}, true].map((exp): Row => [{ exp }, "time"]),
  ],
  beginnings: [
    [{ nbf: now }, undefined],
    [{ nbf: now + 60 }, undefined],
    [{ nbf: now + 61 }, "too_early"],
    ...[null, String(now), -1, Infinity].map((nbf): Row => [{ nbf }, "time"]),
  ],
  makings: [
    [{ iat: now }, undefined],
    [{ iat: 0 }, undefined],
    [{ iat: now + 60 }, undefined],
    [{ iat: now + 61 }, "issued_later"],
    ...[null, String(now), -1, [now]].map((iat): Row => [{ iat }, "time"]),
  ],
};

describe("a token's claims", () => {
  for (const [what, rows] of Object.entries(families)) {
    it(`a token's claims are judged by their ${what}`, () => {
      for (const [change, fault] of rows) assert.equal(check(change), fault, JSON.stringify(change)?.slice(0, 100));
    });
  }

  it("a token's claims need no audience if none is expected", () => {
    assert.equal(check({ aud: undefined }, { audiences: undefined }), undefined);
    assert.equal(check({ aud: "shop" }, { audiences: [] }), "audience");
  });

  it("a token's claims must match the expected kind of token", () => {
    const types = [
      "JWT",
      "jwt",
      "application/jwt",
      "at+jwt",
      "AT+JWT",
      "application/at+jwt",
      "it+jwt",
      "logout+jwt",
      "dpop+jwt",
      "secevent+jwt",
      "JOSE",
      "",
      null,
      1,
      ["jwt"],
    ];
    const taken = (kind: keyof typeof tokenTypes): unknown[] =>
      [undefined, ...types].filter(
        (typ) => check({}, { types: tokenTypes[kind] }, typ === undefined ? {} : { typ }) === undefined,
      );
    const plain = [undefined, "JWT", "jwt", "application/jwt"];
    const access = ["at+jwt", "AT+JWT", "application/at+jwt"];
    assert.deepEqual(taken("id_token"), plain);
    assert.deepEqual(taken("access_token"), [...plain, ...access]);
    assert.deepEqual(taken("at+jwt"), access);
    assert.deepEqual(taken("it+jwt"), ["it+jwt"]);
    assert.deepEqual(taken("jwt"), [...plain, ...access, "it+jwt"]);
    assert.deepEqual(taken("plain"), taken("jwt"));
  });

  it("a token's claims can be limited to a maximum age", () => {
    assert.equal(check({ iat: now - 360 }, { maxAgeSeconds: 300 }), undefined);
    assert.equal(check({ iat: now - 361 }, { maxAgeSeconds: 300 }), "expired");
    assert.equal(check({}, { maxAgeSeconds: 300 }), "time");
  });

  it("a token's claims may lack an expiry if the caller allows it", () => {
    assert.equal(check({ exp: undefined }, { mayLackExpiry: true }), undefined);
    assert.equal(check({ exp: now - 60 }, { mayLackExpiry: true }), "expired");
    assert.equal(check({ exp: null }, { mayLackExpiry: true }), "time");
  });

  it("a token's claims can be checked without leeway", () => {
    assert.equal(check({ exp: now }, { leewaySeconds: 0 }), "expired");
    assert.equal(check({ exp: now + 1, nbf: now + 1 }, { leewaySeconds: 0 }), "too_early");
  });
});
