/** Certificates that no correct authority issues, and correct ones for comparison. */
import { generateKeyPairSync, sign } from "node:crypto";
import type { KeyObject } from "node:crypto";
import {
  bitString,
  encodeBoolean,
  encodeContext,
  contextPrimitive,
  encodeDer,
  encodeInteger,
  octetString,
  encodeOid,
  encodeSequence,
  tag,
  encodeTime,
} from "../../src/lib/certificates/der.ts";

export interface OddCertificate {
  readonly pem: string;
  readonly keyPem: string;
  readonly key: KeyObject;
  readonly name: string;
}

export interface KeyPair {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

export interface OddOptions {
  readonly name: string;
  /** Default: the certificate itself. */
  readonly issuer?: OddCertificate;
  readonly key?: "ec" | { readonly rsaBits: number } | KeyPair;
  readonly hash?: "sha256" | "sha1";
  readonly notBefore?: number;
  readonly notAfter?: number;
  readonly extensions: readonly Buffer[];
}

let serial = 0;
const day = 86_400_000;
const algorithms = {
  "ec sha256": encodeSequence(encodeOid("1.2.840.10045.4.3.2")),
  "ec sha1": encodeSequence(encodeOid("1.2.840.10045.4.1")),
  "rsa sha256": encodeSequence(encodeOid("1.2.840.113549.1.1.11"), encodeDer(tag.null)),
  "rsa sha1": encodeSequence(encodeOid("1.2.840.113549.1.1.5"), encodeDer(tag.null)),
} as const;

export function oddCertificate(options: OddOptions): OddCertificate {
  const { name, issuer, hash = "sha256", key: kind = "ec", extensions } = options;
  const { publicKey, privateKey } = keyPair(kind);
  const signer = issuer?.key ?? privateKey;
  const algorithm = algorithms[`${signer.asymmetricKeyType === "rsa" ? "rsa" : "ec"} ${hash}`];
  const now = Date.now();
  serial += 1;
  const toBeSigned = encodeSequence(
    encodeContext(0, encodeInteger(2)),
    encodeInteger(serial),
    algorithm,
    commonName(issuer?.name ?? name),
    encodeSequence(encodeTime(options.notBefore ?? now - day), encodeTime(options.notAfter ?? now + day)),
    commonName(name),
    publicKey.export({ type: "spki", format: "der" }),
    encodeContext(3, encodeSequence(...extensions)),
  );
  const whole = encodeSequence(toBeSigned, algorithm, bitString(sign(hash, toBeSigned, signer)));
  const lines = whole.toString("base64").match(/.{1,64}/g) ?? [];
  return {
    name,
    key: privateKey,
    keyPem: privateKey.export({ type: "pkcs8", format: "pem" }) as string,
    pem: `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`,
  };
}

function keyPair(kind: NonNullable<OddOptions["key"]>): KeyPair {
  if (kind === "ec") return generateKeyPairSync("ec", { namedCurve: "P-256" });
  return "rsaBits" in kind ? generateKeyPairSync("rsa", { modulusLength: kind.rsaBits }) : kind;
}

/** Returns `CA:TRUE`, with the maximum number of authorities between this one and a leaf. */
export function authorityConstraints(pathLength?: number): Buffer {
  const parts = [encodeBoolean(true), ...(pathLength === undefined ? [] : [encodeInteger(pathLength)])];
  return extension("2.5.29.19", encodeSequence(...parts), true);
}

/**
 * Returns a key usage with bits from the left, as numbered in RFC 5280 §4.2.1.3: 0 digitalSignature, 5 keyCertSign, 6
 * cRLSign.
 */
export function keyUsage(...bits: readonly number[]): Buffer {
  let byte = 0;
  for (const bit of bits) byte |= 0x80 >> bit;
  return extension("2.5.29.15", bitString(Buffer.from([byte]), 7 - Math.max(...bits)), true);
}

export function extendedUsage(purpose: "clientAuth" | "serverAuth"): Buffer {
  return extension(
    "2.5.29.37",
    encodeSequence(encodeOid(purpose === "clientAuth" ? "1.3.6.1.5.5.7.3.2" : "1.3.6.1.5.5.7.3.1")),
  );
}

export function dnsNames(...names: readonly string[]): Buffer {
  return extension("2.5.29.17", encodeSequence(...names.map((name) => contextPrimitive(2, Buffer.from(name)))));
}

/** Returns constraints for the names of certificates below. */
export function permittedNames(name: string): Buffer {
  const subtree = encodeSequence(contextPrimitive(2, Buffer.from(name)));
  return extension("2.5.29.30", encodeSequence(encodeContext(0, subtree)), true);
}

/** Returns an unknown critical extension. */
export function unknownCritical(): Buffer {
  return extension("1.3.6.1.4.1.55555.1", octetString(Buffer.from("x")), true);
}

function extension(id: string, value: Buffer, critical = false): Buffer {
  return encodeSequence(encodeOid(id), ...(critical ? [encodeBoolean(true)] : []), octetString(value));
}

function commonName(text: string): Buffer {
  return encodeSequence(
    encodeDer(tag.set, encodeSequence(encodeOid("2.5.4.3"), encodeDer(tag.utf8String, Buffer.from(text)))),
  );
}
