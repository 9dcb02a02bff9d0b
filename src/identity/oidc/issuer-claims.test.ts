import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { identityOf } from "./issuer-claims.ts";

const issuer = "https://id.example";
const ada = "ada@example.com";
const emailOf = (claims: object, info: object, of = issuer): string => {
  const { email, emailVerified } = identityOf({ sub: "1", ...claims }, { sub: "1", ...info }, of);
  return `${email} ${emailVerified ? "verified" : "unverified"}`;
};

describe("an identity from an issuer", () => {
  it("I5: email_verified applies to the address in the same document, and not to one from another source", () => {
    for (const [claims, info, expected] of [
      [{ email: ada, email_verified: true }, {}, `${ada} verified`],
      [{}, { email: ada, email_verified: true }, `${ada} verified`],
      [{ email: ada }, { email: ada, email_verified: true }, `${ada} verified`],
      [{ email: ada }, { email: "eve@example.com", email_verified: true }, `${ada} unverified`],
      [{ email: ada }, { email_verified: true }, `${ada} unverified`],
      [{ email_verified: true }, { email: ada }, `${ada} unverified`],
      [{ email: ada, email_verified: false }, { email: ada, email_verified: true }, `${ada} unverified`],
      [{ email: null, email_verified: true }, { email: ada }, `${ada} unverified`],
      [{ email: "", email_verified: true }, { email: ada, email_verified: true }, " unverified"],
      [{}, { email_verified: true }, " unverified"],
    ] as const) {
      assert.equal(emailOf(claims, info), expected, JSON.stringify([claims, info]));
    }
  });

  it("I5: email_verified counts as text only for issuers known to send text", () => {
    for (const [of, verified, expected] of [
      ["https://appleid.apple.com", "true", "verified"],
      ["https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_AbCdEfGhI", "true", "verified"],
      ["https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_AbCdEfGhI", "false", "unverified"],
      ["https://appleid.apple.com", "TRUE", "unverified"],
      ["https://appleid.apple.com", 1, "unverified"],
      ["https://appleid.apple.com.evil.example", "true", "unverified"],
      ["https://evil.example/https://appleid.apple.com", "true", "unverified"],
      ["https://cognito-idp.evil.example/x.amazonaws.com/x", "true", "unverified"],
      [issuer, "true", "unverified"],
    ] as const) {
      assert.equal(
        emailOf({ email: ada, email_verified: verified }, {}, of),
        `${ada} ${expected}`,
        `${of} ${verified}`,
      );
    }
  });
});
