import type { CertificateDetails } from "../lib/certificates/certificate-details.ts";
import { f } from "../schema/fields.ts";

/** Example of a PEM text for descriptions; not a real certificate. */
export const pemExample = "-----BEGIN CERTIFICATE-----\nMIIB…\n-----END CERTIFICATE-----\n";

const readOnly = { readOnly: true } as const;

/** Fields of every certificate. */
export const certificateFields = {
  subject_common_name: f.string("Common name of the subject.", { ...readOnly, maxBytes: 4096 }),
  not_before: f.timestamp("Start of the validity.", readOnly),
  not_after: f.timestamp("End of the validity.", readOnly),
  key_usages: f.list("Key usages.", f.string("A usage."), readOnly),
  extended_key_usages: f.list("Extended key usages.", f.string("A usage."), readOnly),
} as const;

export function certificateDoc(details: CertificateDetails) {
  return {
    subject_common_name: details.subjectCommonName,
    not_before: details.notBefore,
    not_after: details.notAfter,
    key_usages: details.keyUsages,
    extended_key_usages: details.extendedKeyUsages,
  };
}
