import { f } from "../schema/fields.ts";
import { defineResource } from "../schema/resource.ts";

export const loginKey = defineResource({
  name: "login_key",
  schemaName: "LoginKey",
  path: "/login_keys",
  listKey: "login_keys",
  idPrefix: "lgnkey",
  doc: "A key that all edges share for logins. It seals logins in progress, signs sessions, signs requests to SAML providers, or signs the registrations of OAuth clients.",
  fields: {
    purpose: f.oneOf("Purpose of the key.", ["flow", "assertion", "request", "client"], { required: true }),
    key: f.string("32 bytes in base64url; a P-256 or RSA key in PKCS #8.", {
      required: true,
      secret: true,
      writeOnly: true,
      maxBytes: 4096,
    }),
    certificate: f.string("Certificate of the RSA key, PEM.", { maxBytes: 8192 }),
    made_at: f.timestamp("Creation time."),
    used_from: f.timestamp("Time of the first use. Edges receive the key earlier."),
  },
  internal: true,
  unrecorded: true,
  traffic: true,
});
