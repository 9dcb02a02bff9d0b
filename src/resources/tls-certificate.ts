import { createPrivateKey } from "node:crypto";
import type { KeyObject, X509Certificate } from "node:crypto";
import { certificateDetails, readPemCertificates } from "../lib/certificates/certificate-details.ts";
import { tlsDemand } from "../lib/certificates/tls-usable.ts";
import { f, notes } from "../schema/fields.ts";
import type { Issue } from "../schema/fields.ts";
import { defineResource } from "../schema/resource.ts";
import { certificateDoc, certificateFields, pemExample } from "./certificate-fields.ts";

const maxChain = 10;
const readOnly = { readOnly: true, maxBytes: 4096 } as const;

export const tlsCertificate = defineResource({
  name: "tls_certificate",
  schemaName: "TLSCertificate",
  path: "/tls_certificates",
  listKey: "tls_certificates",
  idPrefix: "cert",
  doc: "A certificate with its chain and private key. Edges present it for the names in it.",
  fields: {
    ...notes,
    certificate_pem: f.string("The certificate followed by its chain, in order, in PEM form.", {
      required: true,
      immutable: true,
      maxBytes: 131_072,
      example: pemExample,
    }),
    private_key_pem: f.string("Its private key in PEM form, unencrypted.", {
      required: true,
      immutable: true,
      writeOnly: true,
      secret: true,
      maxBytes: 32_768,
    }),
    ...certificateFields,
    subject_alternative_names: f.object(
      "Names and addresses for which the certificate is valid.",
      {
        dns_names: f.list("DNS names.", f.string("A name."), { readOnly: true }),
        ips: f.list("Addresses.", f.string("An address."), { readOnly: true }),
      },
      { readOnly: true },
    ),
    issued_at: f.timestamp(
      "Time when the server obtained the certificate automatically; null for an uploaded certificate.",
      { readOnly: true },
    ),
    private_key_type: f.string("Type of the private key.", readOnly),
    issuer_common_name: f.string("Common name of the issuer.", readOnly),
    serial_number: f.string("Serial number, lower-case hexadecimal.", readOnly),
    subject_organization: f.string("Organization of the subject.", readOnly),
    subject_organizational_unit: f.string("Organizational unit of the subject.", readOnly),
    subject_locality: f.string("Locality of the subject.", readOnly),
    subject_province: f.string("Province of the subject.", readOnly),
    subject_country: f.string("Country of the subject.", readOnly),
  },
  traffic: true,
  refusals: ["certificate_invalid"],
  derive({ certificate_pem, private_key_pem }) {
    const read = readPemCertificates(certificate_pem, maxChain);
    if (typeof read === "string") return makeIssue("certificate_pem", read);
    const leaf = read[0] as X509Certificate;
    const unlinked = read.slice(1).findIndex((issuer, index) => !read[index]?.checkIssued(issuer));
    if (unlinked >= 0)
      return makeIssue("certificate_pem", `be in order: number ${unlinked + 2} did not issue the one before`);
    const key = readKey(private_key_pem);
    if (typeof key === "string") return makeIssue("private_key_pem", key);
    if (!leaf.checkPrivateKey(key)) return makeIssue("private_key_pem", "belong to the first certificate");
    const demand = tlsDemand(certificate_pem, private_key_pem);
    if (demand !== undefined) return makeIssue("certificate_pem", demand);
    const details = certificateDetails(leaf);
    return {
      ...certificateDoc(details),
      subject_alternative_names: { dns_names: details.dnsNames, ips: details.ips },
      private_key_type: details.keyType,
      issuer_common_name: details.issuerCommonName,
      serial_number: details.serialNumber,
      subject_organization: details.organization,
      subject_organizational_unit: details.organizationalUnit,
      subject_locality: details.locality,
      subject_province: details.province,
      subject_country: details.country,
    };
  },
});

function readKey(pem: string): KeyObject | string {
  if (pem.includes("ENCRYPTED")) return "be unencrypted";
  try {
    return createPrivateKey(pem);
  } catch {
    return "be a private key in PEM form";
  }
}

function makeIssue(path: string, must: string): Issue {
  return { path, message: `must ${must}`, reason: "certificate_invalid" };
}
