import { f } from "../schema/fields.ts";
import { defineResource } from "../schema/resource.ts";

export const certificateJob = defineResource({
  name: "certificate_job",
  schemaName: "CertificateJob",
  path: "/certificate_jobs",
  listKey: "certificate_jobs",
  idPrefix: "certjob",
  doc: "State of the certificate for a domain with a certificate policy.",
  fields: {
    reserved_domain: f.ref("The domain.", { to: "reserved_domain", input: "reserved_domain_id" }, { required: true }),
    started_at: f.timestamp("Start of the last attempt; null after a success."),
    under_way: f.boolean("Whether an attempt is running. A server that stopped during an attempt leaves this true."),
    failures: f.uint32("Failed attempts since the last success."),
    error_code: f.nullableString("Error code of the last failed attempt."),
    msg: f.string("Error message of the last failed attempt.", { maxBytes: 4096 }),
    retries_at: f.timestamp(
      "Time of the next attempt. During an attempt: the time of the next one if the server stops.",
    ),
    renews_at: f.timestamp("Time when the certificate will be renewed."),
    certificate_made: f.nullableString("Id of the last certificate."),
    challenge_type: f.nullableString("The last challenge that succeeded."),
    directory: f.nullableString("ACME directory of the authority that issued the last certificate."),
    dns_record: f.object(
      "The record of a DNS check, until the server has removed it.",
      {
        name: f.string("Name of the TXT record.", { required: true, maxBytes: 255 }),
        zone: f.string("Its zone.", { required: true, maxBytes: 255 }),
        value: f.string("Its value.", { required: true, maxBytes: 255 }),
      },
      { nullable: true },
    ),
  },
  ownedBy: { kind: "reserved_domain", field: "reserved_domain_id" },
  internal: true,
});
