/** The server's private key, which proves to clients that they reached it. */
import { createPrivateKey, createPublicKey, sign } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { encodeMpint, encodeString, WireReader } from "../ssh-wire.ts";
import { certificateSuffix, certifiedType, parseCertificate, signatureAlgorithm } from "./user-certificate.ts";
import { ed25519Blob, fingerprintOf, InvalidKey } from "./public-key.ts";

export interface HostKey {
  /** Names in the key exchange, the preferred one first. */
  readonly algorithms: readonly string[];
  readonly blob: Buffer;
  readonly fingerprint: string;
  /** Set if an authority of the operator has certified the key. */
  readonly certificate?: HostCertificate;
  /** Returns the signature in the form of the protocol. */
  sign(algorithm: string, bytes: Uint8Array): Buffer;
}

export interface HostCertificate {
  readonly blob: Buffer;
  /** Names of the host; empty: every name. */
  readonly principals: readonly string[];
  readonly validAfterMs: number;
  readonly validBeforeMs: number;
  readonly authorityFingerprint: string;
}

/** What the server sends as its key for this algorithm of the key exchange. */
export function shownKey({ blob, certificate }: HostKey, algorithm: string): Buffer {
  return certificate !== undefined && certifiedType(algorithm) !== undefined ? certificate.blob : blob;
}

/**
 * Returns the key with its certificate, which clients with the authority in `known_hosts` trust. Others see the key alone.
 * Throws `InvalidKey` that says what to do.
 *
 * @param line of a `-cert.pub` file
 */
export function withCertificate(key: HostKey, line: string): HostKey {
  const [, encoded = ""] = line.trim().split(/[ \t]+/, 2);
  const { key: certified, ...certificate } = parseCertificate(Buffer.from(encoded, "base64"), "host");
  if (!isOfKey(certified.blob, key.blob)) {
    throw new InvalidKey("must be a certificate of the server's host key. Sign the key that ssh-keyscan prints");
  }
  const { blob } = certified;
  const { principals, validAfterMs, validBeforeMs, authorityFingerprint } = certificate;
  return {
    ...key,
    algorithms: [...key.algorithms.map((one) => `${one}${certificateSuffix}`), ...key.algorithms],
    certificate: { blob, principals, validAfterMs, validBeforeMs, authorityFingerprint },
    sign: (algorithm, bytes) => key.sign(signatureAlgorithm(algorithm), bytes),
  };
}

/** A certificate repeats the fields of the key after its own type and nonce. */
function isOfKey(certificate: Buffer, key: Buffer): boolean {
  const certified = new WireReader(certificate);
  const alone = new WireReader(key);
  const isSameType = certifiedType(certified.text()) === alone.text();
  certified.string();
  const fields = certificate.subarray(certified.at, certified.at + alone.left);
  return isSameType && fields.equals(key.subarray(alone.at));
}

/** Reads a private key in PEM without a passphrase. Throws `InvalidKey` that says what to do. */
export function readHostKey(pem: string): HostKey {
  let key: KeyObject;
  try {
    key = pem.includes(opensshHeader) ? readOpensshKey(pem) : createPrivateKey(pem);
  } catch (error) {
    if (error instanceof InvalidKey) throw error;
    throw new InvalidKey("must be a private key in PEM without a passphrase", { cause: error });
  }
  switch (key.asymmetricKeyType) {
    case "ed25519":
      return ed25519HostKey(key);
    case "rsa":
      return rsaHostKey(key);
    case "ec":
      return curveHostKey(key);
    default:
      throw new InvalidKey("must be an Ed25519, RSA or ECDSA (P-256) key");
  }
}

const opensshHeader = "-----BEGIN OPENSSH PRIVATE KEY-----";

/** The form in which ssh-keygen writes keys (OpenSSH PROTOCOL.key). Other types than Ed25519 have a form that Node reads. */
function readOpensshKey(text: string): KeyObject {
  const base64 = text.slice(text.indexOf(opensshHeader) + opensshHeader.length, text.lastIndexOf("-----END"));
  const reader = new WireReader(Buffer.from(base64, "base64"), "openssh-key-v1\0".length);
  if (reader.text() !== "none") throw new InvalidKey("must be a private key without a passphrase");
  // The names and options of the missing encryption, the number of keys, and the public key.
  reader.string();
  reader.string();
  reader.uint32();
  reader.string();
  const secret = new WireReader(reader.string());
  // Two equal numbers that show a wrong passphrase.
  secret.uint64();
  if (secret.text() !== "ssh-ed25519") {
    throw new InvalidKey("must be in PEM. Convert a copy: ssh-keygen -p -N '' -m PKCS8 -f FILE");
  }
  const x = secret.string().toString("base64url");
  const d = secret.string().subarray(0, 32).toString("base64url");
  return createPrivateKey({ format: "jwk", key: { kty: "OKP", crv: "Ed25519", x, d } });
}

function ed25519HostKey(key: KeyObject): HostKey {
  const blob = ed25519Blob(Buffer.from(createPublicKey(key).export({ format: "jwk" }).x as string, "base64url"));
  return {
    algorithms: ["ssh-ed25519"],
    blob,
    fingerprint: fingerprintOf(blob),
    sign: (algorithm, bytes) => Buffer.concat([encodeString(algorithm), encodeString(sign(null, bytes, key))]),
  };
}

function rsaHostKey(key: KeyObject): HostKey {
  const { n = "", e = "" } = createPublicKey(key).export({ format: "jwk" });
  const [modulus, exponent] = [n, e].map((one) => encodeMpint(Buffer.from(one, "base64url")));
  const blob = Buffer.concat([encodeString("ssh-rsa"), exponent as Buffer, modulus as Buffer]);
  const digest = (algorithm: string): string => (algorithm === "rsa-sha2-256" ? "sha256" : "sha512");
  return {
    algorithms: ["rsa-sha2-512", "rsa-sha2-256"],
    blob,
    fingerprint: fingerprintOf(blob),
    sign: (algorithm, bytes) =>
      Buffer.concat([encodeString(algorithm), encodeString(sign(digest(algorithm), bytes, key))]),
  };
}

function curveHostKey(key: KeyObject): HostKey {
  if (key.asymmetricKeyDetails?.namedCurve !== "prime256v1") throw new InvalidKey("must have the curve P-256");
  const { x = "", y = "" } = createPublicKey(key).export({ format: "jwk" });
  const point = Buffer.concat([Buffer.of(4), Buffer.from(x, "base64url"), Buffer.from(y, "base64url")]);
  const type = "ecdsa-sha2-nistp256";
  const blob = Buffer.concat([encodeString(type), encodeString("nistp256"), encodeString(point)]);
  return {
    algorithms: [type],
    blob,
    fingerprint: fingerprintOf(blob),
    sign(_algorithm, bytes) {
      const pair = sign("sha256", bytes, { key, dsaEncoding: "ieee-p1363" });
      return Buffer.concat([
        encodeString(type),
        encodeString(Buffer.concat([encodeMpint(pair.subarray(0, 32)), encodeMpint(pair.subarray(32))])),
      ]);
    },
  };
}
