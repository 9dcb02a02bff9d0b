/** The whole grant of a client, stored with the login. Edges read only `Grant` of it. */
import { hash, timingSafeEqual } from "node:crypto";
import { takeRandomBytes } from "../../lib/random-bytes.ts";
import type { Grant } from "../../identity/sessions/grant.ts";

export interface StoredGrant extends Grant {
  /** `pending` until the person has confirmed; `code` until the client has tokens. */
  readonly stage: "pending" | "code" | "refresh";
  /** The provider's limit of the login, milliseconds since 1970; 0 without a limit. */
  readonly latest: number;
  /** Hash of the part that all codes and refresh tokens of the grant share. */
  readonly family: string;
  /** Hash of the part of the only code or refresh token that is valid now. */
  readonly secret: string;
  /** When the code expires, milliseconds since 1970. */
  readonly codeUntil: number;
  readonly redirectUri: string;
  readonly challenge: string;
  readonly resource: string;
  readonly accessTokenMinutes: number;
  readonly refreshTokenDays: number;
}

const familyBytes = 16;
const secretBytes = 32;
const prefixes = { code: "postern_oc_", refresh: "postern_or_" } as const;
const form = /^postern_o[cr]_([0-9a-z]{27})\.([\w-]{22})([\w-]{43})$/;

/** A code or refresh token: `<prefix><session>.<family><secret>`. */
export interface GrantToken {
  /** Id of the session without its prefix. */
  readonly digits: string;
  readonly family: string;
  readonly secret: string;
}

export function newFamily(): string {
  return takeRandomBytes(familyBytes).toString("base64url");
}

/** Returns a new code or refresh token, and the hash of its secret. */
export function newGrantToken(kind: keyof typeof prefixes, sessionId: string, family: string) {
  const secret = takeRandomBytes(secretBytes).toString("base64url");
  const digits = sessionId.slice(sessionId.indexOf("_") + 1);
  return { text: `${prefixes[kind]}${digits}.${family}${secret}`, secretHash: hashOf(secret) };
}

/** Returns undefined for any other text. */
export function readGrantToken(kind: keyof typeof prefixes, text: string): GrantToken | undefined {
  const parts = text.startsWith(prefixes[kind]) ? form.exec(text) : null;
  if (!parts) return undefined;
  const [, digits = "", family = "", secret = ""] = parts;
  return { digits, family, secret };
}

export function hashOf(text: string): string {
  return hash("sha256", text, "base64url");
}

export function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
