/** OpenSSH certificates of users and hosts (OpenSSH PROTOCOL.certkeys). */
import { BlockList, isIPv4, isIPv6 } from "node:net";
import { WireReader } from "../ssh-wire.ts";
import { algorithmsOfType, fingerprintOf, InvalidKey, keyAfterType, parsePublicKey } from "./public-key.ts";
import type { SshPublicKey } from "./public-key.ts";

export const certificateSuffix = "-cert-v01@openssh.com";
/** Types of certificates. */
const types = { user: 1, host: 2 } as const;
type CertificateType = keyof typeof types;
/** Maximum bytes of a certificate. One of an RSA key of 16,384 bits with such an authority has 9 KB. */
const maxCertificateBytes = 16_384;
const maxPrincipals = 256;

/** A certificate whose signature is valid. Nothing else is checked yet. */
export interface SshCertificate {
  /** The certified key. Its `blob` is that of the certificate. */
  readonly key: SshPublicKey;
  readonly serial: bigint;
  readonly keyId: string;
  readonly principals: readonly string[];
  readonly validAfterMs: number;
  readonly validBeforeMs: number;
  readonly criticalOptions: ReadonlyMap<string, string>;
  readonly authorityFingerprint: string;
}

/** Returns the type of the certified key, such as `ssh-ed25519`. Undefined if the algorithm is not of a certificate. */
export function certifiedType(algorithm: string): string | undefined {
  if (!algorithm.endsWith(certificateSuffix)) return undefined;
  const stem = algorithm.slice(0, -certificateSuffix.length);
  // The certificates of security keys have the suffix of their type only once.
  const type = stem.startsWith("sk-") ? `${stem}@openssh.com` : stem;
  const isRsa = type === "rsa-sha2-256" || type === "rsa-sha2-512";
  return isRsa ? "ssh-rsa" : type in algorithmsOfType ? type : undefined;
}

/** Returns the algorithm of a login's signature. */
export function signatureAlgorithm(algorithm: string): string {
  const type = certifiedType(algorithm);
  if (type === undefined) return algorithm;
  return type === "ssh-rsa" ? algorithm.slice(0, -certificateSuffix.length) : type;
}

/** Names of every supported algorithm of a login, for the client's choice (RFC 8308 §3.1). */
export const loginAlgorithms: readonly string[] = Object.values(algorithmsOfType)
  .flat()
  .flatMap((one) => [
    one,
    one.startsWith("sk-") ? one.replace("@openssh.com", certificateSuffix) : `${one}${certificateSuffix}`,
  ]);

/** Throws `InvalidKey` if the certificate cannot be read, is of another type, or its signature is not valid. */
export function parseCertificate(blob: Buffer, type: CertificateType): SshCertificate {
  if (blob.length > maxCertificateBytes) throw new InvalidKey(`must have at most ${maxCertificateBytes} bytes`);
  try {
    return readCertificate(blob, type);
  } catch (error) {
    if (error instanceof InvalidKey) throw error;
    throw new InvalidKey("must be a valid certificate", { cause: error });
  }
}

function readCertificate(blob: Buffer, wanted: CertificateType): SshCertificate {
  const reader = new WireReader(blob);
  const type = certifiedType(reader.text(64));
  if (type === undefined) throw new InvalidKey("must be a certificate");
  // The nonce.
  reader.string();
  const key = { ...keyAfterType(type, reader), blob: Buffer.from(blob) };
  const serial = reader.uint64();
  if (reader.uint32() !== types[wanted]) throw new InvalidKey(`must be a certificate of a ${wanted}`);
  const keyId = reader.text();
  const principals = stringsOf(reader.string());
  const validAfterMs = millisecondsOf(reader.uint64());
  const validBeforeMs = millisecondsOf(reader.uint64());
  const criticalOptions = optionsOf(reader.string());
  // Extensions, which permit what Postern never offers, and a reserved field.
  reader.string();
  reader.string();
  const authority = parsePublicKey(reader.string());
  const signed = blob.subarray(0, reader.at);
  const signature = reader.string();
  const algorithm = new WireReader(signature).text(64);
  const isKnown = algorithmsOfType[authority.type]?.includes(algorithm);
  if (reader.left > 0 || !isKnown || !authority.verifies(algorithm, signature, signed)) {
    throw new InvalidKey("must have a valid signature of its authority, which does not use SHA-1");
  }
  const authorityFingerprint = fingerprintOf(authority.blob);
  return { key, serial, keyId, principals, validAfterMs, validBeforeMs, criticalOptions, authorityFingerprint };
}

function stringsOf(list: Buffer): readonly string[] {
  const reader = new WireReader(list);
  const found: string[] = [];
  while (reader.left > 0) {
    if (found.length === maxPrincipals) throw new InvalidKey(`must have at most ${maxPrincipals} principals`);
    found.push(reader.text());
  }
  return found;
}

function optionsOf(list: Buffer): ReadonlyMap<string, string> {
  const reader = new WireReader(list);
  const found = new Map<string, string>();
  while (reader.left > 0) {
    const name = reader.text();
    const value = reader.string();
    if (found.has(name)) throw new InvalidKey(`must have the option ${name} only once`);
    found.set(name, value.length === 0 ? "" : new WireReader(value).text(4_096));
  }
  return found;
}

/** The greatest time means "forever". */
function millisecondsOf(seconds: bigint): number {
  return seconds > BigInt(Number.MAX_SAFE_INTEGER) / 1000n ? Infinity : Number(seconds) * 1000;
}

/** Returns why a certificate does not permit this login, or undefined if it does. */
export function certificateProblem(
  certificate: SshCertificate,
  { user, ip, now }: { readonly user: string; readonly ip: string; readonly now: number },
): string | undefined {
  const { principals, validAfterMs, validBeforeMs, criticalOptions } = certificate;
  if (now < validAfterMs) return `it is valid from ${new Date(validAfterMs).toISOString()}`;
  if (now >= validBeforeMs) return `it has expired at ${new Date(validBeforeMs).toISOString()}`;
  if (!principals.includes(user)) {
    const named = principals.length === 0 ? "it has no principals" : `its principals are ${principals.join(", ")}`;
    return `${named}, but the user name of the login is "${user}"`;
  }
  for (const [name, value] of criticalOptions) {
    if (name !== "source-address") return `it has the critical option "${name}", which is not supported`;
    if (!isFrom(value, ip)) return `it is limited to the addresses ${value}`;
  }
  return undefined;
}

/** @param networks addresses and networks in CIDR notation, with commas between */
function isFrom(networks: string, ip: string): boolean {
  const list = new BlockList();
  try {
    for (const one of networks.split(",")) {
      const [address = "", prefix] = one.trim().split("/");
      const family = isIPv4(address) ? "ipv4" : "ipv6";
      if (prefix === undefined) list.addAddress(address, family);
      else list.addSubnet(address, Number(prefix), family);
    }
    return list.check(ip, isIPv6(ip) ? "ipv6" : "ipv4");
  } catch {
    return false;
  }
}
