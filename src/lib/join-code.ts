/**
 * Codes with which an agent joins a server. A code is `pj1_` and a base64url text. It contains the server's address,
 * the fingerprint of its CA, a secret with a limited lifetime, and a checksum (CRC-32). The checksum detects typing
 * errors.
 */
import { hash } from "node:crypto";
import { crc32 } from "node:zlib";

export interface JoinCode {
  /** Host name or address of the server's agent listener. */
  readonly host: string;
  readonly port: number;
  /** SHA-256 of the CA's certificate (DER), 32 bytes; undefined if one of the system's CAs signs for the server. */
  readonly authority: Buffer | undefined;
  readonly secret: Buffer;
}

const prefix = "pj1_";
/** 160 bits. */
export const joinSecretBytes = 20;
const fingerprintBytes = 32;
const checksumBytes = 4;
/** Maximum length of a host name in DNS. */
const maxHostBytes = 253;
const maxCodeLength = 512;

/**
 * Layout: flags (1: a fingerprint follows the host), port (2 bytes), length of the host, host, fingerprint, secret,
 * checksum.
 */
export function renderJoinCode({ host, port, authority, secret }: JoinCode): string {
  const name = Buffer.from(host);
  if (name.length === 0 || name.length > maxHostBytes) throw new Error(`render a join code: the host is "${host}"`);
  const head = Buffer.from([authority ? 1 : 0, port >> 8, port & 0xff, name.length]);
  const body = Buffer.concat([head, name, ...(authority ? [authority] : []), secret]);
  return prefix + Buffer.concat([body, checksumOf(body)]).toString("base64url");
}

/** Throws `Error` with the required form of a code. The message never repeats the code. */
export function parseJoinCode(text: string): JoinCode {
  if (!text.startsWith(prefix)) throw new Error(`must start with "${prefix}"`);
  const digits = text.slice(prefix.length);
  const bytes = Buffer.from(digits, "base64url");
  const isWhole = text.length <= maxCodeLength && bytes.toString("base64url") === digits;
  const body = bytes.subarray(0, -checksumBytes);
  if (!isWhole || body.length < 4 || !checksumOf(body).equals(bytes.subarray(-checksumBytes)))
    throw new Error(mistyped);
  const [flags = 0, high = 0, low = 0, length = 0] = body;
  const authorityAt = 4 + length;
  const secretAt = authorityAt + (flags === 1 ? fingerprintBytes : 0);
  const host = body.toString("latin1", 4, authorityAt);
  const port = high * 256 + low;
  if (flags > 1 || body.length !== secretAt + joinSecretBytes || port === 0 || !/^[\w.:-]{1,253}$/.test(host)) {
    throw new Error(mistyped);
  }
  return {
    host,
    port,
    authority: flags === 1 ? body.subarray(authorityAt, secretAt) : undefined,
    secret: body.subarray(secretAt),
  };
}

/** Returns the hash of a secret that the server stores. */
export function hashJoinSecret(secret: Uint8Array): string {
  return hash("sha256", secret, "hex");
}

const mistyped = "is incomplete or mistyped: copy the whole code";

function checksumOf(body: Buffer): Buffer {
  const bytes = Buffer.alloc(checksumBytes);
  bytes.writeUInt32BE(crc32(body));
  return bytes;
}
