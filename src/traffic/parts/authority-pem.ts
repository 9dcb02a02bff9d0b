/** Certificate authorities for client certificates. */
import { X509Certificate } from "node:crypto";
import type { Look } from "../module.ts";

/** Returns the certificates of an account's authority as PEM. Throws if it does not exist or cannot be used. */
export function authorityPem(look: Look, id: string): string {
  const authority = look.get("certificate_authority", id);
  if (!authority) throw new Error(`find certificate authority "${id}": it does not exist`);
  const read = readAuthorities(String(authority.doc["ca_pem"]));
  if ("must" in read) throw new Error(`read certificate authority "${id}": it must ${read.must}`);
  return read.pem;
}

/** Returns the certificates alone, or the requirement that the text violates. */
export function readAuthorities(text: string): { readonly pem: string } | { readonly must: string } {
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g);
  if (!blocks) return { must: "hold a certificate in PEM" };
  for (const block of blocks) {
    let certificate: X509Certificate;
    try {
      certificate = new X509Certificate(block);
    } catch {
      return { must: "hold certificates that can be read" };
    }
    if (!certificate.ca) return { must: `hold certificate authorities, and "${certificate.subject}" is not one` };
  }
  return { pem: blocks.join("\n") };
}
