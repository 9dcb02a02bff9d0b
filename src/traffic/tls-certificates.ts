import { X509Certificate } from "node:crypto";
import { certificateExtensions } from "../lib/certificates/certificate-extensions.ts";
import type { CertificateExtension } from "../lib/certificates/certificate-extensions.ts";
import type { ServedCertificate, TlsFacts } from "./exchange.ts";

/** A certificate, as header fields and variables show them. */
export interface TlsCertificate {
  /** By attribute as in RFC 4514, e.g. `CN`; the first value of each. */
  readonly subject: Readonly<Record<string, string>>;
  readonly issuer: Readonly<Record<string, string>>;
  readonly dnsNames: readonly string[];
  readonly emailAddresses: readonly string[];
  readonly ipAddresses: readonly string[];
  readonly uris: readonly string[];
  /** Lower-case hexadecimal. */
  readonly serialNumber: string;
  /** As OpenSSL calls it: `ecdsa-with-SHA256`. */
  readonly signatureAlgorithm: string;
  /** RFC 3339. */
  readonly notBefore: string;
  readonly notAfter: string;
  readonly extensions: readonly CertificateExtension[];
}

/** Read once per connection, and only when somebody asks. */
const ofClients = new WeakMap<TlsFacts, TlsCertificate>();
/** Read once per certificate. */
const ofServer = new WeakMap<ServedCertificate, TlsCertificate>();

/** The verified certificate of the client. */
export function clientCertificate(tls: TlsFacts | undefined): TlsCertificate | undefined {
  if (!tls?.clientCertificate) return undefined;
  let certificate = ofClients.get(tls);
  if (!certificate) ofClients.set(tls, (certificate = parse(tls.clientCertificate)));
  return certificate;
}

/** The certificate that the client was shown. */
export function serverCertificate(tls: TlsFacts | undefined): TlsCertificate | undefined {
  const served = tls?.serverCertificate;
  if (!served) return undefined;
  let certificate = ofServer.get(served);
  if (!certificate) ofServer.set(served, (certificate = parse(served.certificatePem)));
  return certificate;
}

/** @param encoded DER, or PEM of which the first certificate counts */
function parse(encoded: Buffer | string): TlsCertificate {
  const certificate = new X509Certificate(encoded);
  const { subject, issuer } = certificate.toLegacyObject();
  const names = alternativeNames(certificate.subjectAltName ?? "");
  const of = (type: string): string[] => names.filter((name) => name.type === type).map(({ value }) => value);
  let extensions: readonly CertificateExtension[] | undefined;
  return {
    subject: attributes(subject),
    issuer: attributes(issuer),
    dnsNames: of("DNS"),
    emailAddresses: of("email"),
    ipAddresses: of("IP Address"),
    uris: of("URI"),
    serialNumber: certificate.serialNumber.toLowerCase(),
    signatureAlgorithm: certificate.signatureAlgorithm ?? "",
    notBefore: certificate.validFromDate.toISOString(),
    notAfter: certificate.validToDate.toISOString(),
    // Read when somebody asks: hardly anybody does.
    get extensions() {
      return (extensions ??= certificateExtensions(certificate.raw));
    },
  };
}

function attributes(name: object): Record<string, string> {
  return Object.fromEntries(
    Object.entries(name).map(([attribute, value]: [string, unknown]) => [attribute, String([value].flat()[0])]),
  );
}

/** Node's own form: `DNS:a.example, email:"with, comma"`, values with anything unusual as JSON strings. */
function alternativeNames(text: string): { type: string; value: string }[] {
  return Array.from(text.matchAll(/(?:^|, )([A-Za-z ]+):("(?:[^"\\]|\\.)*"|[^,]*)/g), ([, type = "", value = ""]) => ({
    type,
    value: value.startsWith('"') ? String(JSON.parse(value)) : value,
  }));
}

/**
 * `text` as a header value: "%", control characters and everything beyond ASCII percent-encoded as UTF-8, and
 * `also` (separators of a list).
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
 * `text` as a whole header value, or as an entry of a list. No value may begin or end with a blank (RFC 9110 §5.5), so
 * blanks there are encoded too: without them, a name that somebody else has would be shown.
 */
export function wholeFieldText(text: string, also = ""): string {
  return fieldText(text, also).replace(/^ +| +$/g, (blanks) => "%20".repeat(blanks.length));
}

/** The same for a text that is percent-encoded already, such as a path: its "%" stay. */
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
