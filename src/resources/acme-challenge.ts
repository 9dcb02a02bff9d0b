import { f } from "../schema/fields.ts";
import { defineResource } from "../schema/resource.ts";

export const acmeChallenge = defineResource({
  name: "acme_challenge",
  schemaName: "ACMEChallenge",
  path: "/acme_challenges",
  listKey: "acme_challenges",
  idPrefix: "acmechl",
  doc: "The answer of edges to a certificate authority that checks a domain.",
  fields: {
    reserved_domain: f.ref("The domain.", { to: "reserved_domain", input: "reserved_domain_id" }, { required: true }),
    domain: f.string("Its name.", { required: true }),
    token: f.string("The last segment of the requested path (RFC 8555 §8.3).", { maxBytes: 512 }),
    key_authorization: f.string("The content of the answer.", { maxBytes: 1024 }),
    certificate_pem: f.string("The certificate presented for the protocol acme-tls/1 (RFC 8737).", {
      maxBytes: 16_384,
    }),
    private_key_pem: f.string("The certificate's key, PKCS #8.", { secret: true, writeOnly: true, maxBytes: 4096 }),
  },
  ownedBy: { kind: "reserved_domain", field: "reserved_domain_id" },
  traffic: true,
  internal: true,
});
