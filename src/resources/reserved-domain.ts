import { f, notes } from "../schema/fields.ts";
import { domain } from "../schema/formats.ts";
import { defineResource } from "../schema/resource.ts";

export const reservedDomain = defineResource({
  name: "reserved_domain",
  schemaName: "ReservedDomain",
  path: "/reserved_domains",
  listKey: "reserved_domains",
  idPrefix: "rd",
  doc: "A host name that only this account may use. Hostports of edges reserve theirs by themselves.",
  fields: {
    ...notes,
    domain: f.string("The host name, or `*.` and one; unique on the server.", {
      required: true,
      immutable: true,
      alias: "name",
      format: domain,
    }),
    region: f.string("Where it is served; empty: everywhere.", { immutable: true }),
    cname_target: f.nullableString(
      "What a CNAME record of the domain should point to; null below the server's own domain.",
      { live: true },
    ),
    certificate: f.ref("The certificate served for it.", { to: "tls_certificate", input: "certificate_id" }),
    certificate_management_policy: f.object(
      "How the server gets a certificate for it by itself; excludes `certificate_id`.",
      {
        authority: f.oneOf("Who issues it.", ["letsencrypt"], { default: "letsencrypt" }),
        private_key_type: f.oneOf("Kind of its key.", ["ecdsa", "rsa"], { default: "ecdsa" }),
      },
      { nullable: true },
    ),
    certificate_management_status: f.object(
      "How far that is; null without a policy.",
      {
        renews_at: f.timestamp("When the certificate is renewed."),
        provisioning_job: f.object(
          "The attempt under way.",
          {
            error_code: f.nullableString("Why the last attempt failed."),
            msg: f.string("What is being done.", { maxBytes: 4096 }),
            started_at: f.timestamp("When it was started."),
            retries_at: f.timestamp("When it is tried again."),
          },
          { nullable: true },
        ),
      },
      { nullable: true, live: true },
    ),
    acme_challenge_cname_target: f.nullableString("What to point `_acme-challenge` to, where that is needed.", {
      live: true,
    }),
    ownership: f.object(
      "Whether the name is proven to be the account's, and by what it can be; null where no proof is wanted.",
      {
        status: f.oneOf("`pending`: it is nobody's yet and cannot be used. `lapsed`: reserve it again.", [
          "pending",
          "proven",
          "lapsed",
        ]),
        record_type: f.nullableString("Type of the DNS record to set; null where only the operator's word counts."),
        record_name: f.nullableString("Name of the record.", { maxBytes: 300 }),
        record_value: f.nullableString("Value of the record."),
        msg: f.string("What was found last.", { maxBytes: 1024 }),
        checked_at: f.timestamp("When it was last looked up."),
        lapses_at: f.timestamp("Until when it is looked up; null when it is proven."),
      },
      { nullable: true, live: true },
    ),
    unproven: f.boolean("The name is yet to be proven, and is held by nobody until then.", { internal: true }),
    resolves_to: f.list(
      "Addresses to resolve it to; empty: wherever the server is.",
      f.object("One of them.", { value: f.string("The address, or a name for it.", { required: true }) }),
      { maxItems: 10 },
    ),
  },
  traffic: true,
  claims: ({ domain, unproven }) =>
    unproven
      ? [{ space: "unproven domain", name: domain, at: "domain" }]
      : [{ space: "domain", name: domain, global: true, hosts: true, at: "domain" }],
  taken: "domain_held",
  refusals: ["domain_public", "domain_unproven"],
  clears: [
    { path: "certificate", input: "certificate_id" },
    { path: "certificate_management_policy", input: "certificate_management_policy" },
  ],
});
