import { certificateDetails, readPemCertificates } from "../lib/certificates/certificate-details.ts";
import { f, notes } from "../schema/fields.ts";
import { defineResource } from "../schema/resource.ts";
import { certificateDoc, certificateFields, pemExample } from "./certificate-fields.ts";

const maxCertificates = 20;

export const certificateAuthority = defineResource({
  name: "certificate_authority",
  schemaName: "CertificateAuthority",
  path: "/certificate_authorities",
  listKey: "certificate_authorities",
  idPrefix: "ca",
  doc: "CA certificates that verify client certificates. One upload can have several; the shown fields are from the first.",
  fields: {
    ...notes,
    ca_pem: f.string("One or more certificates in PEM form.", {
      required: true,
      immutable: true,
      maxBytes: 131_072,
      example: pemExample,
    }),
    ...certificateFields,
  },
  traffic: true,
  refusals: ["certificate_invalid"],
  derive({ ca_pem }) {
    const read = readPemCertificates(ca_pem, maxCertificates);
    if (typeof read === "string") return { path: "ca_pem", message: `must ${read}`, reason: "certificate_invalid" };
    const leaf = read.find((certificate) => !certificate.ca);
    if (leaf) {
      const message = `must be CA certificates (basicConstraints CA); "${oneLine(leaf.subject)}" is not one`;
      return { path: "ca_pem", message, reason: "certificate_invalid" };
    }
    return certificateDoc(certificateDetails(read[0] as (typeof read)[number]));
  },
});

function oneLine(subject: string): string {
  return subject.replaceAll("\n", ", ").slice(0, 128);
}
