/** Public keys of users and authorities (RFC 4253 §6.6, RFC 5656, RFC 8332, RFC 8709, and OpenSSH's security keys). */
import { createPublicKey, hash, verify } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { encodeString, WireReader } from "../ssh-wire.ts";

export interface SshPublicKey {
  /** Type of the key, such as `ssh-ed25519`. */
  readonly type: string;
  /** The key as it is sent and hashed. */
  readonly blob: Buffer;
  /** Returns whether the signature (algorithm and value) of `bytes` is valid and uses `algorithm`. */
  verifies(algorithm: string, signature: Buffer, bytes: Buffer): boolean;
}

/** The key cannot be used. The message says why. */
export class InvalidKey extends Error {
  override readonly name = "InvalidKey";
}

/** Signature algorithms of each type of key, the preferred one first. SHA-1 is never accepted. */
export const algorithmsOfType: Readonly<Record<string, readonly string[]>> = {
  "ssh-ed25519": ["ssh-ed25519"],
  "sk-ssh-ed25519@openssh.com": ["sk-ssh-ed25519@openssh.com"],
  "ecdsa-sha2-nistp256": ["ecdsa-sha2-nistp256"],
  "ecdsa-sha2-nistp384": ["ecdsa-sha2-nistp384"],
  "ecdsa-sha2-nistp521": ["ecdsa-sha2-nistp521"],
  "sk-ecdsa-sha2-nistp256@openssh.com": ["sk-ecdsa-sha2-nistp256@openssh.com"],
  "ssh-rsa": ["rsa-sha2-512", "rsa-sha2-256"],
};

export const keyTypes = Object.keys(algorithmsOfType);

/** Maximum bytes of a public key. An RSA key of 16,384 bits has 2,070. */
export const maxKeyBytes = 4_096;
const minRsaBits = 2_048;
const maxRsaBits = 16_384;

/** Returns `SHA256:` and the hash, as every SSH client shows it. */
export function fingerprintOf(blob: Uint8Array): string {
  return `SHA256:${hash("sha256", blob, "base64").replace(/=+$/, "")}`;
}

/** Reads a line of an `authorized_keys` file without options, or of a `.pub` file. Throws `InvalidKey`. */
export function parsePublicKeyLine(line: string): SshPublicKey {
  const [type = "", encoded = ""] = line.trim().split(/[ \t]+/, 2);
  if (!(type in algorithmsOfType)) {
    throw new InvalidKey(`must be a line of a .pub file, which begins with one of ${keyTypes.join(", ")}`);
  }
  if (line.trim().includes("\n")) throw new InvalidKey("must be one line");
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(encoded)) throw new InvalidKey("must have the key in Base64 after its type");
  const key = parsePublicKey(Buffer.from(encoded, "base64"));
  if (key.type !== type) throw new InvalidKey(`must be a key of the type ${type}, but it contains ${key.type}`);
  return key;
}

/** Throws `InvalidKey`. */
export function parsePublicKey(blob: Buffer): SshPublicKey {
  if (blob.length > maxKeyBytes) throw new InvalidKey(`must have at most ${maxKeyBytes} bytes`);
  try {
    const reader = new WireReader(blob);
    const key = keyAfterType(reader.text(64), reader);
    if (reader.left > 0) throw new InvalidKey("must not have bytes after the key");
    return { ...key, blob: Buffer.from(blob) };
  } catch (error) {
    if (error instanceof InvalidKey) throw error;
    throw new InvalidKey("must be a valid public key", { cause: error });
  }
}

type Unnamed = Omit<SshPublicKey, "blob">;

/** Reads the fields of a key of this type. */
export function keyAfterType(type: string, reader: WireReader): Unnamed {
  switch (type) {
    case "ssh-ed25519":
      return describeSimple(type, ed25519Of(reader.string()));
    case "ssh-rsa":
      return rsaKey(reader);
    case "ecdsa-sha2-nistp256":
    case "ecdsa-sha2-nistp384":
    case "ecdsa-sha2-nistp521":
      return ecdsaKey(type, reader);
    case "sk-ssh-ed25519@openssh.com":
      return securityKey(type, ed25519Of(reader.string()), reader.string());
    case "sk-ecdsa-sha2-nistp256@openssh.com": {
      const { key } = curveOf(reader);
      return securityKey(type, key, reader.string());
    }
    default:
      throw new InvalidKey(`must have one of the types ${keyTypes.join(", ")}`);
  }
}

function ed25519Of(bytes: Buffer): KeyObject {
  if (bytes.length !== 32) throw new InvalidKey("must be an Ed25519 key of 32 bytes");
  return createPublicKey({ format: "jwk", key: { kty: "OKP", crv: "Ed25519", x: bytes.toString("base64url") } });
}

/** Returns the value of a signature. Undefined if it uses another algorithm. */
function valueOf(algorithm: string, signature: Buffer): Buffer | undefined {
  const reader = new WireReader(signature);
  if (reader.text(64) !== algorithm) return undefined;
  const value = reader.string();
  return reader.left === 0 ? value : undefined;
}

/** A signature that cannot be read is not valid. */
function falseOnError(check: () => boolean): boolean {
  try {
    return check();
  } catch {
    return false;
  }
}

function describeSimple(type: string, key: KeyObject): Unnamed {
  return {
    type,
    verifies: (algorithm, signature, bytes) =>
      falseOnError(() => {
        const value = algorithm === type ? valueOf(algorithm, signature) : undefined;
        return value !== undefined && verify(null, bytes, key, value);
      }),
  };
}

function rsaKey(reader: WireReader): Unnamed {
  const e = reader.string();
  const n = reader.string();
  const key = createPublicKey({
    format: "jwk",
    key: { kty: "RSA", n: n.toString("base64url"), e: e.toString("base64url") },
  });
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
  if (bits < minRsaBits || bits > maxRsaBits || e.length > 8) {
    throw new InvalidKey(`must be an RSA key of ${minRsaBits} to ${maxRsaBits} bits`);
  }
  const digests: Readonly<Record<string, string>> = { "rsa-sha2-256": "sha256", "rsa-sha2-512": "sha512" };
  return {
    type: "ssh-rsa",
    verifies: (algorithm, signature, bytes) =>
      falseOnError(() => {
        const digest = digests[algorithm];
        const value = valueOf(algorithm, signature);
        if (digest === undefined || value === undefined) return false;
        // PuTTY leaves out leading zeros (RFC 4253 §6.6 has none).
        const size = Math.ceil(bits / 8);
        const padded = value.length < size ? Buffer.concat([Buffer.alloc(size - value.length), value]) : value;
        return verify(digest, bytes, key, padded);
      }),
  };
}

const curves: Readonly<Record<string, { readonly crv: string; readonly bytes: number; readonly digest: string }>> = {
  nistp256: { crv: "P-256", bytes: 32, digest: "sha256" },
  nistp384: { crv: "P-384", bytes: 48, digest: "sha384" },
  nistp521: { crv: "P-521", bytes: 66, digest: "sha512" },
};

function curveOf(reader: WireReader) {
  const name = reader.text(64);
  const point = reader.string();
  const curve = curves[name];
  if (!curve || point.length !== 1 + 2 * curve.bytes || point[0] !== 4) {
    throw new InvalidKey("must have an uncompressed point of its curve");
  }
  const x = point.subarray(1, 1 + curve.bytes).toString("base64url");
  const y = point.subarray(1 + curve.bytes).toString("base64url");
  // OpenSSL rejects a point that is not on the curve.
  const key = createPublicKey({ format: "jwk", key: { kty: "EC", crv: curve.crv, x, y } });
  return { name, curve, key };
}

function ecdsaKey(type: string, reader: WireReader): Unnamed {
  const { name, curve, key } = curveOf(reader);
  if (type !== `ecdsa-sha2-${name}`) throw new InvalidKey(`must have the curve of ${type}`);
  return {
    type,
    verifies: (algorithm, signature, bytes) =>
      falseOnError(() => {
        const value = algorithm === type ? valueOf(algorithm, signature) : undefined;
        if (value === undefined) return false;
        return verify(curve.digest, bytes, { key, dsaEncoding: "ieee-p1363" }, pairOf(value, curve.bytes));
      }),
  };
}

/** Returns the two numbers of an ECDSA signature, each with the length of the curve. */
function pairOf(value: Buffer, bytes: number): Buffer {
  const reader = new WireReader(value);
  const pair = Buffer.alloc(2 * bytes);
  for (const end of [bytes, 2 * bytes]) {
    const number = reader.string();
    const digits = number[0] === 0 ? number.subarray(1) : number;
    if (digits.length > bytes) throw new InvalidKey("must have a signature of its curve");
    pair.set(digits, end - digits.length);
  }
  if (reader.left > 0) throw new InvalidKey("must have a signature of two numbers");
  return pair;
}

const userPresent = 1;

/** OpenSSH PROTOCOL.u2f: the device signs hashes of the application and the message, flags and a counter. */
function securityKey(type: string, key: KeyObject, application: Buffer): Unnamed {
  const isCurve = type.startsWith("sk-ecdsa");
  const applicationHash = hash("sha256", application, "buffer");
  return {
    type,
    verifies: (algorithm, signature, bytes) =>
      falseOnError(() => {
        const reader = new WireReader(signature);
        if (algorithm !== type || reader.text(64) !== type) return false;
        const value = reader.string();
        const flags = reader.byte();
        const counter = reader.uint32();
        if (reader.left > 0 || (flags & userPresent) === 0) return false;
        const tail = Buffer.alloc(5);
        tail[0] = flags;
        tail.writeUInt32BE(counter, 1);
        const signed = Buffer.concat([applicationHash, tail, hash("sha256", bytes, "buffer")]);
        if (!isCurve) return verify(null, signed, key, value);
        return verify("sha256", signed, { key, dsaEncoding: "ieee-p1363" }, pairOf(value, 32));
      }),
  };
}

/** Returns the line of a `.pub` file without a comment. */
export function publicKeyLine({ type, blob }: Pick<SshPublicKey, "type" | "blob">): string {
  return `${type} ${blob.toString("base64")}`;
}

/** Returns the blob of an Ed25519 key. */
export function ed25519Blob(raw: Uint8Array): Buffer {
  return Buffer.concat([encodeString("ssh-ed25519"), encodeString(raw)]);
}
