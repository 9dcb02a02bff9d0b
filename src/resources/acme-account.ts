import { f } from "../schema/fields.ts";
import { defineResource } from "../schema/resource.ts";

export const acmeAccount = defineResource({
  name: "acme_account",
  schemaName: "ACMEAccount",
  path: "/acme_accounts",
  listKey: "acme_accounts",
  idPrefix: "acmeacc",
  doc: "The key that identifies this server to a certificate authority; one for each authority.",
  fields: {
    directory: f.string("The authority's ACME directory.", { required: true, maxBytes: 2048 }),
    private_key_pem: f.string("The key, PKCS #8.", { required: true, secret: true, writeOnly: true, maxBytes: 4096 }),
  },
  claims: ({ directory }) => [{ space: "acme_directory", name: directory, global: true }],
  internal: true,
});
