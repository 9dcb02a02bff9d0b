/** Creates X.509 certificates (RFC 5280): a private authority, leaves signed by it, and self-signed ones. */
import { createHash, createPrivateKey, generateKeyPair, randomBytes, sign, X509Certificate } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { isIP } from "node:net";
import { promisify } from "node:util";
import {
  bitString,
  encodeBoolean,
  encodeContext,
  contextPrimitive,
  encodeDer,
  encodeInteger,
  octetString,
  encodeOid,
  readDer,
  encodeSequence,
  tag,
  encodeTime,
} from "./der.ts";
import { dayMs } from "../durations.ts";

/** A certificate and its private key (PKCS #8), both PEM. */
export interface KeyedCertificate {
  readonly certificatePem: string;
  readonly keyPem: string;
}

export type KeyType = "ec" | "rsa";

export interface AuthorityOptions {
  readonly commonName: string;
  /** Wall clock, milliseconds since 1970. */
  readonly now: number;
  /** Default: 3650. */
  readonly days?: number;
  /** The parent authority. Default: the authority signs itself. */
  readonly issuer?: KeyedCertificate;
  /** Maximum number of authorities below this one. Default: unlimited. */
  readonly pathLength?: number;
}

export interface LeafOptions {
  /** Subject alternative names: DNS names, including `*.example.com`, and IP addresses. At least one. */
  readonly names: readonly string[];
  /** Wall clock, milliseconds since 1970. */
  readonly now: number;
  /** The certificate never outlives the authority's certificate. */
  readonly days: number;
  /** Default: `serverAuth`. */
  readonly usages?: readonly ExtendedUsage[];
  /** Default: the first name. */
  readonly commonName?: string;
  /** Default: ECDSA P-256. `rsa` has 2048 bits. */
  readonly keyType?: KeyType;
  /** Further extensions, each a DER `Extension`. */
  readonly extensions?: readonly Buffer[];
}

type ExtendedUsage = "serverAuth" | "clientAuth";

interface Plan {
  readonly subject: Buffer;
  readonly notBefore: number;
  readonly notAfter: number;
  readonly keyType: KeyType;
  readonly issuer: KeyedCertificate | undefined;
  extensions(subjectKey: KeyObject): readonly Buffer[];
}

/** Peers whose clock is behind ours by at most this time accept a new certificate. */
const backdateMs = 60 * 60 * 1000;
/** RFC 5280, upper bound of a common name. */
const maxCommonName = 64;
const maxNames = 100;

const usageOids: Record<ExtendedUsage, string> = {
  serverAuth: "1.3.6.1.5.5.7.3.1",
  clientAuth: "1.3.6.1.5.5.7.3.2",
};
const ecdsaWithSha256 = encodeSequence(encodeOid("1.2.840.10045.4.3.2"));
const rsaWithSha256 = encodeSequence(encodeOid("1.2.840.113549.1.1.11"), encodeDer(tag.null));
const makeKeyPair = promisify(generateKeyPair) as (
  type: string,
  options: object,
) => Promise<{ publicKey: KeyObject; privateKey: KeyObject }>;
const signAsync = promisify(sign) as (algorithm: string, data: Buffer, key: KeyObject) => Promise<Buffer>;

/** Creates a certificate authority: ECDSA P-256, `CA:TRUE`, `keyCertSign`. Runs outside the calling thread. */
export async function createAuthority(options: AuthorityOptions): Promise<KeyedCertificate> {
  const { pathLength } = options;
  return makeCertificate({
    subject: commonName(options.commonName),
    ...computeValidity(options.now, options.days ?? 3650, options.issuer),
    keyType: "ec",
    issuer: options.issuer,
    extensions: () => [
      encodeExtension(
        "2.5.29.19",
        encodeSequence(encodeBoolean(true), ...(pathLength === undefined ? [] : [encodeInteger(pathLength)])),
        true,
      ),
      encodeExtension("2.5.29.15", bitString(Buffer.from([0b0000_0110]), 1), true),
    ],
  });
}

/**
 * Creates a leaf certificate signed by `authority`, with a new key. `certificatePem` contains only the leaf. Runs
 * outside the calling thread. Throws on names that are neither DNS names nor IP addresses.
 */
export async function issueLeaf(authority: KeyedCertificate, options: LeafOptions): Promise<KeyedCertificate> {
  return makeCertificate(leafPlan(options, authority));
}

/** Creates a self-signed certificate, for example for a key that others must trust explicitly. */
export async function createSelfSigned(options: LeafOptions): Promise<KeyedCertificate> {
  return makeCertificate(leafPlan(options, undefined));
}

/** Returns the certificates of a PEM text, in order. Throws if one of them is unreadable, or if there are none. */
export function readCertificates(pem: string): X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (blocks.length === 0) throw new Error("read certificates: the text has no CERTIFICATE block");
  return blocks.map((block) => new X509Certificate(block));
}

function leafPlan(options: LeafOptions, issuer: KeyedCertificate | undefined): Plan {
  const { names, usages = ["serverAuth"], keyType = "ec" } = options;
  const [first] = names;
  if (first === undefined || names.length > maxNames) {
    throw new Error(`issue certificate: it needs 1 to ${maxNames} names, not ${names.length}`);
  }
  const subject = options.commonName ?? (first.length <= maxCommonName ? first : undefined);
  return {
    subject: subject === undefined ? encodeSequence() : commonName(subject),
    ...computeValidity(options.now, options.days, issuer),
    keyType,
    issuer,
    extensions: () => [
      encodeExtension("2.5.29.19", encodeSequence(), true),
      // digitalSignature, and keyEncipherment if the key supports it (RFC 8017, RFC 3279 §2.3.1)
      encodeExtension(
        "2.5.29.15",
        keyType === "rsa" ? bitString(Buffer.from([0xa0]), 5) : bitString(Buffer.from([0x80]), 7),
        true,
      ),
      encodeExtension("2.5.29.37", encodeSequence(...usages.map((usage) => encodeOid(usageOids[usage])))),
      // RFC 5280 §4.2.1.6: critical if the subject is empty
      encodeExtension("2.5.29.17", encodeSequence(...names.map(generalName)), subject === undefined),
      ...(options.extensions ?? []),
    ],
  };
}

async function makeCertificate(plan: Plan): Promise<KeyedCertificate> {
  const { publicKey, privateKey } = await newKeyPair(plan.keyType);
  const issuer = plan.issuer && readIssuer(plan.issuer);
  const signingKey = issuer?.key ?? privateKey;
  const subjectKeyId = keyId(publicKey);
  const authorityKeyId = issuer ? issuer.keyId : subjectKeyId;
  const toBeSigned = encodeSequence(
    encodeContext(0, encodeInteger(2)),
    encodeInteger(serialNumber()),
    signatureAlgorithm(signingKey),
    issuer?.subject ?? plan.subject,
    encodeSequence(encodeTime(plan.notBefore), encodeTime(plan.notAfter)),
    plan.subject,
    publicKey.export({ type: "spki", format: "der" }),
    encodeContext(
      3,
      encodeSequence(
        ...plan.extensions(publicKey),
        encodeExtension("2.5.29.14", octetString(subjectKeyId)),
        ...(authorityKeyId ? [encodeExtension("2.5.29.35", encodeSequence(contextPrimitive(0, authorityKeyId)))] : []),
      ),
    ),
  );
  return {
    certificatePem: toPem("CERTIFICATE", await signDer(toBeSigned, signingKey)),
    keyPem: privateKey.export({ type: "pkcs8", format: "pem" }) as string,
  };
}

/** Runs outside the calling thread. */
export function newKeyPair(type: KeyType): Promise<{ publicKey: KeyObject; privateKey: KeyObject }> {
  return type === "ec" ? makeKeyPair("ec", { namedCurve: "P-256" }) : makeKeyPair("rsa", { modulusLength: 2048 });
}

/** `SEQUENCE { toBeSigned, algorithm, signature }`, the format of certificates and of requests for them. */
export async function signDer(toBeSigned: Buffer, key: KeyObject): Promise<Buffer> {
  const signature = await signAsync("sha256", toBeSigned, key);
  return encodeSequence(toBeSigned, signatureAlgorithm(key), bitString(signature));
}

function signatureAlgorithm(key: KeyObject): Buffer {
  return key.asymmetricKeyType === "rsa" ? rsaWithSha256 : ecdsaWithSha256;
}

function readIssuer(issuer: KeyedCertificate): { key: KeyObject; subject: Buffer; keyId: Buffer | undefined } {
  const [certificate] = readCertificates(issuer.certificatePem);
  if (!certificate) throw new Error("issue certificate: the authority has no certificate");
  const key = createPrivateKey(issuer.keyPem);
  if (!certificate.checkPrivateKey(key))
    throw new Error("issue certificate: the authority's key is not its certificate's");
  return { key, ...issuerFields(certificate.raw) };
}

/**
 * Returns subject and subject key identifier, byte for byte: verifiers find a chain only if they are repeated exactly.
 */
function issuerFields(raw: Buffer): { subject: Buffer; keyId: Buffer | undefined } {
  const [certificate] = readDer(raw);
  const [toBeSigned] = readDer(certificate?.body ?? Buffer.alloc(0));
  const fields = readDer(toBeSigned?.body ?? Buffer.alloc(0));
  const subject = fields[5];
  if (fields[0]?.tag !== 0xa0 || subject?.tag !== tag.sequence) {
    throw new Error("issue certificate: the authority's certificate is not X.509 version 3");
  }
  const extensions = fields.find((field) => field.tag === 0xa3);
  const list = extensions && readDer(extensions.body)[0];
  const wanted = encodeOid("2.5.29.14");
  for (const one of list ? readDer(list.body) : []) {
    const parts = readDer(one.body);
    const value = parts.at(-1);
    if (parts[0]?.whole.equals(wanted) && value) return { subject: subject.whole, keyId: readDer(value.body)[0]?.body };
  }
  return { subject: subject.whole, keyId: undefined };
}

function computeValidity(
  now: number,
  days: number,
  issuer: KeyedCertificate | undefined,
): { notBefore: number; notAfter: number } {
  const until = now + days * dayMs;
  const [authority] = issuer ? readCertificates(issuer.certificatePem) : [];
  const notAfter = authority ? Math.min(until, authority.validToDate.getTime()) : until;
  return { notBefore: now - backdateMs, notAfter };
}

/** RFC 7093 §2, method 1. */
function keyId(publicKey: KeyObject): Buffer {
  const [info] = readDer(publicKey.export({ type: "spki", format: "der" }));
  const bits = info && readDer(info.body)[1];
  if (!bits) throw new Error("issue certificate: the public key cannot be read");
  return createHash("sha256").update(bits.body.subarray(1)).digest().subarray(0, 20);
}

/** 127 random bits, positive and never 0 (RFC 5280 §4.1.2.2). */
function serialNumber(): Buffer {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] as number) & 0x7f) | 0x40;
  return bytes;
}

function commonName(text: string): Buffer {
  const bytes = Buffer.from(text, "utf8");
  if (text.length === 0 || text.length > maxCommonName) {
    throw new Error(`issue certificate: a common name has 1 to ${maxCommonName} characters, not ${text.length}`);
  }
  return encodeSequence(encodeDer(tag.set, encodeSequence(encodeOid("2.5.4.3"), encodeDer(tag.utf8String, bytes))));
}

/** An `Extension` (RFC 5280 §4.1) around its DER value. */
export function encodeExtension(id: string, value: Buffer, critical = false): Buffer {
  return encodeSequence(encodeOid(id), ...(critical ? [encodeBoolean(true)] : []), octetString(value));
}

const dnsName = /^(\*\.)?([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/;

/** A subject alternative name. Throws if the name is neither a DNS name nor an address. */
export function generalName(name: string): Buffer {
  // a zone id identifies an interface of one host, and is invalid in a certificate
  const family = name.includes("%") ? 0 : isIP(name);
  if (family === 4) return contextPrimitive(7, Buffer.from(name.split(".").map(Number)));
  if (family === 6) return contextPrimitive(7, ipv6Bytes(name));
  if (name.length > 253 || !dnsName.test(name))
    throw new Error(`issue certificate: "${name}" is not a DNS name or address`);
  return contextPrimitive(2, Buffer.from(name, "latin1"));
}

function ipv6Bytes(address: string): Buffer {
  // the URL parser converts every form, including one with an IPv4 tail, to groups of hex digits
  const [head = "", tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split("::");
  const groups = (text: string): number[] =>
    text === "" ? [] : text.split(":").map((group) => Number.parseInt(group, 16));
  const left = groups(head);
  const right = groups(tail ?? "");
  const bytes = Buffer.alloc(16);
  [...left, ...Array<number>(8 - left.length - right.length).fill(0), ...right].forEach((group, at) => {
    bytes.writeUInt16BE(group, at * 2);
  });
  return bytes;
}

function toPem(label: string, bytes: Buffer): string {
  const lines = bytes.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
}
