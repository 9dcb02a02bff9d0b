/** Details of a certificate for the API, parsed from its PEM. */
import { X509Certificate } from "node:crypto";
import { readDer, tag } from "./der.ts";

export interface CertificateDetails {
  readonly subjectCommonName: string;
  readonly issuerCommonName: string;
  readonly organization: string;
  readonly organizationalUnit: string;
  readonly locality: string;
  readonly province: string;
  readonly country: string;
  /** RFC 3339. */
  readonly notBefore: string;
  readonly notAfter: string;
  readonly keyUsages: readonly string[];
  readonly extendedKeyUsages: readonly string[];
  readonly dnsNames: readonly string[];
  readonly ips: readonly string[];
  /** Lower-case hexadecimal. */
  readonly serialNumber: string;
  readonly keyType: string;
}

/** RFC 5280 §4.2.1.3, by bit. */
const usageNames = [
  "digital_signature",
  "content_commitment",
  "key_encipherment",
  "data_encipherment",
  "key_agreement",
  "cert_sign",
  "crl_sign",
  "encipher_only",
  "decipher_only",
];
/** RFC 5280 §4.2.1.12. */
const extendedUsageNames: Readonly<Record<string, string>> = {
  "2.5.29.37.0": "any",
  "1.3.6.1.5.5.7.3.1": "server_auth",
  "1.3.6.1.5.5.7.3.2": "client_auth",
  "1.3.6.1.5.5.7.3.3": "code_signing",
  "1.3.6.1.5.5.7.3.4": "email_protection",
  "1.3.6.1.5.5.7.3.8": "time_stamping",
  "1.3.6.1.5.5.7.3.9": "ocsp_signing",
};
const keyUsageOid = Buffer.from([0x55, 0x1d, 0x0f]);

/**
 * Returns the certificates in `pem`, in order. If it contains anything but certificates, or none, returns the error, as
 * the end of "must …".
 */
export function readPemCertificates(pem: string, maxCount: number): readonly X509Certificate[] | string {
  const blocks = pem.match(/-----BEGIN [^-\n]+-----[\s\S]*?-----END [^-\n]+-----/g) ?? [];
  if (blocks.length === 0) return "be one or more certificates in PEM form";
  if (blocks.length > maxCount) return `be at most ${maxCount} certificates, has ${blocks.length}`;
  if (blocks.reduce((rest, block) => rest.replace(block, ""), pem).trim() !== "") {
    return "be certificates in PEM form and nothing else";
  }
  const certificates: X509Certificate[] = [];
  for (const block of blocks) {
    if (!/^-----BEGIN CERTIFICATE-----\r?\n[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----$/.test(block)) {
      return "be of the PEM type CERTIFICATE, without headers";
    }
    try {
      certificates.push(new X509Certificate(block));
    } catch {
      return "be certificates that can be read";
    }
  }
  return certificates;
}

export function certificateDetails(certificate: X509Certificate): CertificateDetails {
  const subject = parseNames(certificate.subject);
  const alternatives = (certificate.subjectAltName ?? "").split(", ");
  const ofType = (type: string): string[] =>
    alternatives.filter((one) => one.startsWith(`${type}:`)).map((one) => one.slice(type.length + 1));
  return {
    subjectCommonName: subject.get("CN") ?? "",
    issuerCommonName: parseNames(certificate.issuer).get("CN") ?? "",
    organization: subject.get("O") ?? "",
    organizationalUnit: subject.get("OU") ?? "",
    locality: subject.get("L") ?? "",
    province: subject.get("ST") ?? "",
    country: subject.get("C") ?? "",
    notBefore: formatTime(certificate.validFromDate),
    notAfter: formatTime(certificate.validToDate),
    keyUsages: readableKeyUsages(certificate.raw),
    extendedKeyUsages: (certificate.keyUsage ?? []).map((oid) => extendedUsageNames[oid] ?? oid),
    dnsNames: ofType("DNS"),
    ips: ofType("IP Address"),
    serialNumber: certificate.serialNumber.toLowerCase(),
    keyType: keyType(certificate.publicKey.asymmetricKeyType),
  };
}

function keyType(type: string | undefined): string {
  return type === "ec" ? "ecdsa" : type === "rsa-pss" ? "rsa" : (type ?? "");
}

function parseNames(text: string): ReadonlyMap<string, string> {
  return new Map(
    text.split("\n").map((line) => {
      const equals = line.indexOf("=");
      return [line.slice(0, equals), line.slice(equals + 1)];
    }),
  );
}

function formatTime(date: Date): string {
  return `${date.toISOString().slice(0, 19)}Z`;
}

/** OpenSSL accepts some certificates that are not quite DER. Their usages are omitted. */
function readableKeyUsages(raw: Buffer): string[] {
  try {
    return keyUsages(raw);
  } catch {
    return [];
  }
}

/** Returns the key usage extension, which `X509Certificate` does not provide. */
function keyUsages(raw: Buffer): string[] {
  const [certificate] = readDer(raw);
  const [body] = certificate ? readDer(certificate.body) : [];
  const wrapper = body && readDer(body.body).find((element) => element.tag === 0xa3);
  const [list] = wrapper ? readDer(wrapper.body) : [];
  for (const extension of list ? readDer(list.body) : []) {
    const parts = readDer(extension.body);
    if (!parts[0]?.body.equals(keyUsageOid)) continue;
    const value = parts.at(-1);
    const [bits] = value ? readDer(value.body) : [];
    if (bits?.tag !== tag.bitString) return [];
    return usageNames.filter((_, bit) => ((bits.body[1 + (bit >> 3)] ?? 0) & (0x80 >> (bit & 7))) !== 0);
  }
  return [];
}
