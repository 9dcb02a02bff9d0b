/**
 * Bearer tokens: `<prefix>_<fingerprint>_<secret><checksum>` in lower-case base 36. The fingerprint is public and finds
 * the stored hash. The secret has 165 random bits. With the checksum (CRC-32), scanners and typing errors are
 * distinguished from revoked tokens without a lookup.
 */
import { hash } from "node:crypto";
import { randomText } from "./ids.ts";

/** What a token gives access to: the API, the agent listener, or services behind logins. */
export const tokenPrefixes = { apiKey: "postern_ak", agent: "postern_at", service: "postern_st" } as const;

export type TokenPrefix = (typeof tokenPrefixes)[keyof typeof tokenPrefixes];

/** Maximum length of an accepted token, including tokens chosen by an operator. */
export const maxTokenBytes = 512;

const shape = /^(postern_(?:a[kt]|st))_([0-9a-z]{16})_([0-9a-z]{32})([0-9a-z]{7})$/;

/** Returns a new token. It is shown once. Only its `hashToken` and `fingerprintToken` are stored. */
export function newToken(prefix: TokenPrefix): string {
  const head = `${prefix}_${randomText(16)}_${randomText(32)}`;
  return head + computeChecksum(head);
}

/** Returns the public part for looking up a token; for a token in another format, a part of its hash. */
export function fingerprintToken(token: string): string {
  const parts = shape.exec(token);
  return parts ? (parts[2] as string) : hash("sha256", `fingerprint:${token}`);
}

/** Returns the SHA-256 of a token, 32 bytes, which is stored (in hexadecimal) and compared with `timingSafeEqual`. */
export function hashToken(token: string): Buffer {
  return hash("sha256", token, "buffer");
}

/** Returns the kind of a token in our format; undefined for any other text and for a token with a typing error. */
export function tokenPrefix(token: string): TokenPrefix | undefined {
  const parts = shape.exec(token);
  if (!parts || computeChecksum(token.slice(0, -7)) !== parts[4]) return undefined;
  return parts[1] as TokenPrefix;
}

function computeChecksum(head: string): string {
  // Loaded with the first token: a thread without tokens uses 1 MB less memory.
  const { crc32 } = process.getBuiltinModule("node:zlib");
  return crc32(head).toString(36).padStart(7, "0");
}
