import { f } from "../schema/fields.ts";
import { defineResource } from "../schema/resource.ts";

export const loginKey = defineResource({
  name: "login_key",
  schemaName: "LoginKey",
  path: "/login_keys",
  listKey: "login_keys",
  idPrefix: "lgnkey",
  doc: "A key that every edge has for logins: it seals what is under way, or signs who is logged in, or what SAML providers are sent for rules of policies.",
  fields: {
    purpose: f.oneOf("What it is for.", ["flow", "assertion", "request"], { required: true }),
    key: f.string("32 bytes in base64url; a P-256 or RSA key in PKCS #8.", {
      required: true,
      secret: true,
      writeOnly: true,
      maxBytes: 4096,
    }),
    certificate: f.string("Of the RSA key, PEM.", { maxBytes: 8192 }),
    made_at: f.timestamp("When it was made."),
    used_from: f.timestamp("When it is used from; edges have it before."),
  },
  internal: true,
  unrecorded: true,
  traffic: true,
});
