import { f } from "../schema/fields.ts";
import { defineResource } from "../schema/resource.ts";

export const certificateJob = defineResource({
  name: "certificate_job",
  schemaName: "CertificateJob",
  path: "/certificate_jobs",
  listKey: "certificate_jobs",
  idPrefix: "certjob",
  doc: "How far the server is with the certificate of a domain that has a management policy.",
  fields: {
    reserved_domain: f.ref("The domain.", { to: "reserved_domain", input: "reserved_domain_id" }, { required: true }),
    started_at: f.timestamp("Start of the last attempt; null when it succeeded."),
    under_way: f.boolean("Whether it goes on; also what a server leaves that stopped in the middle."),
    failures: f.uint32("Attempts that failed since one succeeded."),
    error_code: f.nullableString("Why the last attempt failed."),
    msg: f.string("The same in words.", { maxBytes: 4096 }),
    retries_at: f.timestamp("When it is tried again; while an attempt is under way, when it is if the server stops."),
    renews_at: f.timestamp("When the certificate is renewed."),
    certificate_made: f.nullableString("Id of the certificate that was obtained last."),
    challenge_type: f.nullableString("The challenge that succeeded last."),
  },
  ownedBy: { kind: "reserved_domain", field: "reserved_domain_id" },
  internal: true,
});
