/**
 * Bearer tokens: `<prefix>_<fingerprint>_<secret><checksum>` in lower-case base 36. The fingerprint is public and
 * finds the stored hash; the secret has 165 random bits; the checksum (CRC-32) lets scanners and typing errors be
 * told from revoked tokens without asking anyone.
 */
import { hash } from "node:crypto";
import { randomText } from "./ids.ts";

/** What a token opens: the API, or the agent listener. */
export const tokenPrefixes = { apiKey: "postern_ak", agent: "postern_at" } as const;

export type TokenPrefix = (typeof tokenPrefixes)[keyof typeof tokenPrefixes];

/** Longest token that is looked at; also bounds tokens chosen by an operator. */
export const maxTokenBytes = 512;

const shape = /^(postern_a[kt])_([0-9a-z]{16})_([0-9a-z]{32})([0-9a-z]{7})$/;

/** A new token. It is shown once; only `hashToken` and `fingerprint` of it are kept. */
export function newToken(prefix: TokenPrefix): string {
  const head = `${prefix}_${randomText(16)}_${randomText(32)}`;
  return head + checksum(head);
}

/** The public part that a token is looked up by; for a token of another make, a part of its hash. */
export function fingerprint(token: string): string {
  const parts = shape.exec(token);
  return parts ? (parts[2] as string) : hash("sha256", `fingerprint:${token}`);
}

/** SHA-256 of a token, 32 bytes: what is stored (in hexadecimal), and compared with `timingSafeEqual`. */
export function hashToken(token: string): Buffer {
  return hash("sha256", token, "buffer");
}

/** What a token of our make is for; undefined for any other text and for one with a typing error in it. */
export function tokenPrefix(token: string): TokenPrefix | undefined {
  const parts = shape.exec(token);
  if (!parts || checksum(token.slice(0, -7)) !== parts[4]) return undefined;
  return parts[1] as TokenPrefix;
}

function checksum(head: string): string {
  // Taken with the first token: a thread that sees none keeps a megabyte less in memory.
  const { crc32 } = process.getBuiltinModule("node:zlib");
  return crc32(head).toString(36).padStart(7, "0");
}
