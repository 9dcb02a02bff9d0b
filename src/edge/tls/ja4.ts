/**
 * JA4: fingerprint of a TLS client from the order-independent parts of its ClientHello (FoxIO, "JA4 Technical
 * Details").
 */
import { hash } from "node:crypto";

export interface HelloOffer {
  /** Whether the client names a server. */
  readonly namesServer: boolean;
  /** Offered protocols, each byte as one Latin-1 character. */
  readonly alpn: readonly string[];
  readonly versions: readonly number[];
  readonly cipherSuites: readonly number[];
  /** Types in the client's order. */
  readonly extensions: readonly number[];
  readonly signatureAlgorithms: readonly number[];
}

const versionNames: ReadonlyMap<number, string> = new Map([
  [0x0304, "13"],
  [0x0303, "12"],
  [0x0302, "11"],
  [0x0301, "10"],
  [0x0300, "s3"],
]);
const extensionServerName = 0;
const extensionAlpn = 16;
const noHash = "000000000000";

/** Returns a fingerprint such as `t13d1516h2_8daaf6152771_e5627efa2ab1`. */
export function ja4Of(offer: HelloOffer): string {
  const suites = offer.cipherSuites.filter(isMeant);
  const extensions = offer.extensions.filter(isMeant);
  const version = versionNames.get(Math.max(...offer.versions.filter(isMeant), 0)) ?? "00";
  const head = `t${version}${offer.namesServer ? "d" : "i"}${twoDigits(suites)}${twoDigits(extensions)}${firstAndLast(offer.alpn[0])}`;
  const otherExtensions = extensions.filter((type) => type !== extensionServerName && type !== extensionAlpn);
  const algorithms = offer.signatureAlgorithms.filter(isMeant).map(toHex);
  const tail = algorithms.length === 0 ? "" : `_${algorithms.join(",")}`;
  return `${head}_${computeDigest(sortValues(suites), suites)}_${computeDigest(sortValues(otherExtensions) + tail, extensions)}`;
}

/** Whether the value is not a GREASE value, which only tests the tolerance of servers (RFC 8701). */
function isMeant(value: number): boolean {
  return (value & 0x0f0f) !== 0x0a0a || value >> 8 !== (value & 0xff);
}

function twoDigits(values: readonly number[]): string {
  return String(Math.min(values.length, 99)).padStart(2, "0");
}

/**
 * Returns the first and last character of the first protocol, or of its hexadecimal form if one of them is not
 * alphanumeric.
 */
function firstAndLast(protocol: string | undefined): string {
  if (protocol === undefined || protocol === "") return "00";
  const isPlain = /^[0-9A-Za-z](?:[^]*[0-9A-Za-z])?$/.test(protocol);
  const text = isPlain ? protocol : Buffer.from(protocol, "latin1").toString("hex");
  return `${text[0]}${text.at(-1)}`;
}

function toHex(value: number): string {
  return value.toString(16).padStart(4, "0");
}

function sortValues(values: readonly number[]): string {
  return values.map(toHex).sort().join(",");
}

function computeDigest(text: string, of: readonly number[]): string {
  return of.length === 0 ? noHash : hash("sha256", text).slice(0, 12);
}
