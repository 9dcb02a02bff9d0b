import assert from "node:assert/strict";
import { test } from "node:test";
import { fingerprintToken, hashToken, newToken, tokenPrefix, tokenPrefixes } from "./tokens.ts";

test("K5: a token has a public prefix, at least 160 random bits and a checksum", () => {
  const token = newToken(tokenPrefixes.apiKey);
  assert.match(token, /^postern_ak_[0-9a-z]{16}_[0-9a-z]{39}$/);
  assert.ok(32 * Math.log2(36) >= 160);
  assert.equal(tokenPrefix(token), "postern_ak");
  const typo = token.slice(0, 40) + (token[40] === "a" ? "b" : "a") + token.slice(41);
  assert.equal(tokenPrefix(typo), undefined);
});

test("K5: every character of a token's secret is drawn at random", () => {
  const secrets = Array.from({ length: 400 }, () => newToken(tokenPrefixes.agent).split("_")[3]?.slice(0, 32) ?? "");
  assert.equal(new Set(secrets).size, 400);
  for (let at = 0; at < 32; at += 1) {
    // With 400 draws of 36 characters, the probability that any one is missing is 1 in 78,000.
    assert.ok(new Set(secrets.map((secret) => secret[at])).size > 30, `character ${at}`);
  }
});

test("K5: a token is found by its public part and verified by its SHA-256", () => {
  const token = newToken(tokenPrefixes.agent);
  assert.equal(token.split("_")[2], fingerprintToken(token));
  assert.equal(hashToken(token).length, 32);
  assert.notDeepEqual(hashToken(token), hashToken(newToken(tokenPrefixes.agent)));
});

test("a token chosen by the operator has a separate fingerprint that does not repeat it", () => {
  const found = fingerprintToken("a token that somebody chose");
  assert.match(found, /^[0-9a-f]{64}$/);
  assert.notEqual(found, fingerprintToken("another token"));
  assert.notEqual(found, hashToken("a token that somebody chose").toString("hex"));
});
