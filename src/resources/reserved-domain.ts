import type { DocOf } from "../schema/doc.ts";
import { f, notes } from "../schema/fields.ts";
import { domain } from "../schema/formats.ts";
import { defineResource } from "../schema/resource.ts";

/** Space of names for which the server only gets a certificate. */
export const serverCertificateSpace = "server certificate";

export const reservedDomain = defineResource({
  name: "reserved_domain",
  schemaName: "ReservedDomain",
  path: "/reserved_domains",
  listKey: "reserved_domains",
  idPrefix: "rd",
  doc: "A host name that only this account can use. Hostports of edges reserve their domains automatically.",
  fields: {
    ...notes,
    domain: f.string("The host name, or `*.` and one; unique on the server.", {
      required: true,
      immutable: true,
      alias: "name",
      format: domain,
    }),
    region: f.string("Region of the domain; empty: all regions.", { immutable: true }),
    cname_target: f.nullableString(
      "Target for a CNAME record of the domain; null for names below the server's own domain.",
      { live: true },
    ),
    certificate: f.ref("The certificate for the domain.", { to: "tls_certificate", input: "certificate_id" }),
    certificate_management_policy: f.object(
      "Policy for automatic certificates; excludes `certificate_id`.",
      {
        authority: f.oneOf("Issuer of the certificates.", ["letsencrypt"], { default: "letsencrypt" }),
        private_key_type: f.oneOf("Type of the certificate's key.", ["ecdsa", "rsa"], { default: "ecdsa" }),
      },
      { nullable: true },
    ),
    certificate_management_status: f.object(
      "State of the automatic certificate; null without a policy.",
      {
        renews_at: f.timestamp("Time when the certificate will be renewed."),
        challenge_type: f.nullableString(
          "Check by which the certificate was obtained: `tls-alpn-01`, `http-01` or `dns-01`.",
        ),
        provisioning_job: f.object(
          "The current attempt.",
          {
            error_code: f.nullableString("Error of the last attempt."),
            msg: f.string("Description of the current step.", { maxBytes: 4096 }),
            started_at: f.timestamp("Start time of the attempt."),
            retries_at: f.timestamp("Time of the next attempt."),
          },
          { nullable: true },
        ),
      },
      { nullable: true, live: true },
    ),
    acme_challenge_cname_target: f.nullableString(
      "Target for a CNAME record at `_acme-challenge`, if the challenge needs one.",
      {
        live: true,
      },
    ),
    ownership: f.object(
      "State of the ownership proof and how to provide it; null if this server requires no proof.",
      {
        status: f.oneOf(
          "`pending`: the domain is not proven and cannot be used yet. `lapsed`: reserve the domain again.",
          ["pending", "proven", "lapsed"],
        ),
        record_type: f.nullableString(
          "Type of the DNS record to set; null if only the operator can approve the domain.",
        ),
        record_name: f.nullableString("Name of the record.", { maxBytes: 300 }),
        record_value: f.nullableString("Value of the record."),
        msg: f.string("Result of the last check.", { maxBytes: 1024 }),
        checked_at: f.timestamp("Time of the last check."),
        lapses_at: f.timestamp("End of the checks; null after the proof."),
      },
      { nullable: true, live: true },
    ),
    unproven: f.boolean("The domain is not proven yet, and no account holds it until then.", { internal: true }),
    certificate_only: f.boolean("The server gets a certificate for the name, and no account holds it.", {
      internal: true,
    }),
    resolves_to: f.list(
      "IP addresses for the domain's DNS records; empty: all addresses of the server.",
      f.object("One of them.", { value: f.string("The address, or a name for the address.", { required: true }) }),
      { maxItems: 10 },
    ),
  },
  traffic: true,
  claims: ({ domain, unproven, certificate_only }) => {
    if (certificate_only) return [{ space: serverCertificateSpace, name: domain, global: true, at: "domain" }];
    if (unproven) return [{ space: "unproven domain", name: domain, at: "domain" }];
    return [{ space: "domain", name: domain, global: true, hosts: true, at: "domain" }];
  },
  taken: "domain_held",
  refusals: ["domain_public", "domain_unproven"],
  clears: [
    { path: "certificate", input: "certificate_id" },
    { path: "certificate_management_policy", input: "certificate_management_policy" },
  ],
});

/** Whether an account holds the name now. An unproven name, and one only for a certificate, is in effect for no account. */
export function isHeldDomain({ unproven, certificate_only }: Pick<Domain, "unproven" | "certificate_only">): boolean {
  return !unproven && !certificate_only;
}

type Domain = DocOf<typeof reservedDomain>;
