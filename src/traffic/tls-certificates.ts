import { X509Certificate } from "node:crypto";
import { certificateExtensions } from "../lib/certificates/certificate-extensions.ts";
import type { CertificateExtension } from "../lib/certificates/certificate-extensions.ts";
import type { ServedCertificate, TlsFacts } from "./connection-facts.ts";

/** A certificate, in the form that header fields and variables use. */
export interface TlsCertificate {
  /** By attribute name of RFC 4514, such as `CN`; the first value of each. */
  readonly subject: Readonly<Record<string, string>>;
  readonly issuer: Readonly<Record<string, string>>;
  readonly dnsNames: readonly string[];
  readonly emailAddresses: readonly string[];
  readonly ipAddresses: readonly string[];
  readonly uris: readonly string[];
  /** Lower-case hexadecimal. */
  readonly serialNumber: string;
  /** In OpenSSL's spelling: `ecdsa-with-SHA256`. */
  readonly signatureAlgorithm: string;
  /** RFC 3339. */
  readonly notBefore: string;
  readonly notAfter: string;
  readonly extensions: readonly CertificateExtension[];
}

/** Parsed once per connection, on demand. */
const ofClients = new WeakMap<TlsFacts, TlsCertificate>();
/** Parsed once per certificate. */
const ofServer = new WeakMap<ServedCertificate, TlsCertificate>();

/** The client's verified certificate. */
export function clientCertificate(tls: TlsFacts | undefined): TlsCertificate | undefined {
  if (!tls?.clientCertificate) return undefined;
  let certificate = ofClients.get(tls);
  if (!certificate) ofClients.set(tls, (certificate = parseCertificate(tls.clientCertificate)));
  return certificate;
}

/** The certificate sent to the client. */
export function serverCertificate(tls: TlsFacts | undefined): TlsCertificate | undefined {
  const served = tls?.serverCertificate;
  if (!served) return undefined;
  let certificate = ofServer.get(served);
  if (!certificate) ofServer.set(served, (certificate = parseCertificate(served.certificatePem)));
  return certificate;
}

/** @param encoded DER, or PEM whose first certificate is used */
function parseCertificate(encoded: Buffer | string): TlsCertificate {
  const certificate = new X509Certificate(encoded);
  const { subject, issuer } = certificate.toLegacyObject();
  const names = alternativeNames(certificate.subjectAltName ?? "");
  const of = (type: string): string[] => names.filter((name) => name.type === type).map(({ value }) => value);
  let extensions: readonly CertificateExtension[] | undefined;
  return {
    subject: readAttributes(subject),
    issuer: readAttributes(issuer),
    dnsNames: of("DNS"),
    emailAddresses: of("email"),
    ipAddresses: of("IP Address"),
    uris: of("URI"),
    serialNumber: certificate.serialNumber.toLowerCase(),
    signatureAlgorithm: certificate.signatureAlgorithm ?? "",
    notBefore: certificate.validFromDate.toISOString(),
    notAfter: certificate.validToDate.toISOString(),
    // Parsed on demand, because it is rarely needed.
    get extensions() {
      return (extensions ??= certificateExtensions(certificate.raw));
    },
  };
}

function readAttributes(name: object): Record<string, string> {
  return Object.fromEntries(
    Object.entries(name).map(([attribute, value]: [string, unknown]) => [attribute, String([value].flat()[0])]),
  );
}

/** Parses Node's format: `DNS:a.example, email:"with, comma"`, where unusual values are JSON strings. */
function alternativeNames(text: string): { type: string; value: string }[] {
  return Array.from(text.matchAll(/(?:^|, )([A-Za-z ]+):("(?:[^"\\]|\\.)*"|[^,]*)/g), ([, type = "", value = ""]) => ({
    type,
    value: value.startsWith('"') ? String(JSON.parse(value)) : value,
  }));
}

/**
 * Encodes `text` as a header value: "%", control characters, non-ASCII characters (as UTF-8) and the characters in
 * `also` (list separators) are percent-encoded.
 */
export function fieldText(text: string, also = ""): string {
  if (/^[\x20-\x24\x26-\x2b\x2d-\x7e]*$/.test(text)) return text;
  let out = "";
  for (const character of text.toWellFormed()) {
    const plain = character >= " " && character <= "~" && character !== "%" && !also.includes(character);
    out += plain ? character : encodeCharacter(character);
  }
  return out;
}

/**
 * Encodes `text` as a whole header value or list entry. A value must not start or end with white space (RFC 9110 §5.5),
 * so white space there is encoded too. Otherwise the value could equal another person's name.
 */
export function wholeFieldText(text: string, also = ""): string {
  return fieldText(text, also).replace(/^ +| +$/g, (blanks) => "%20".repeat(blanks.length));
}

/** The same for text that is already percent-encoded, such as a path: its "%" are preserved. */
export function encodeUnprintable(text: string): string {
  if (/^[\x20-\x7e]*$/.test(text)) return text;
  let out = "";
  for (const character of text.toWellFormed()) {
    out += character >= " " && character <= "~" ? character : encodeCharacter(character);
  }
  return out;
}

function encodeCharacter(character: string): string {
  return Array.from(Buffer.from(character), (byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join("");
}
