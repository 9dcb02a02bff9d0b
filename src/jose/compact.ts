/** Signed tokens as they arrive: JWS in compact form with a JSON object inside (RFC 7515 §7.1, RFC 7519 §7.2). */
import { JsonIssue, parseJsonObject } from "../lib/json.ts";
import type { JsonObject } from "../lib/json.ts";

/** Bytes of a token unless the reader says otherwise; longer ones are not looked at. */
export const maxTokenBytes = 16 * 1024;

/** A token that has the right form. Nothing in it is proven. */
export interface SignedToken {
  readonly header: JsonObject;
  readonly payload: JsonObject;
  readonly algorithm: string;
  /** Names a key of the issuer. */
  readonly keyId: string | undefined;
  /** What is signed: header and payload as they arrived. */
  readonly signed: string;
  readonly signature: Buffer;
}

/** What is wrong with a token's form; the message never quotes the token. */
export class TokenFault extends Error {}

const maxKeyIdLength = 1024;

/**
 * Reads strictly: three parts of base64url without padding, each in its one spelling; header and payload are JSON
 * objects without repeated names. Members that point at a key (`jku`, `jwk`, `x5u`, `x5c`) are not looked at: only the
 * issuer's own keys count (RFC 8725 §3.10). Every extension is unknown, so `crit` is refused (RFC 7515 §4.1.11).
 * @throws TokenFault
 */
export function readSignedToken(token: string, maxBytes = maxTokenBytes): SignedToken {
  if (token.length > maxBytes) throw new TokenFault(`is longer than ${maxBytes} bytes`);
  const parts = token.split(".", 6);
  if (parts.length === 5) throw new TokenFault("is encrypted; only signed tokens are read");
  const [first, second, third] = parts as [string, string, string];
  if (parts.length !== 3) throw new TokenFault("does not have three parts");
  const header = readPart("header", first);
  const { alg: algorithm, kid: keyId } = header;
  if (typeof algorithm !== "string") throw new TokenFault("names no algorithm");
  if (Object.hasOwn(header, "crit")) throw new TokenFault("has extensions that must be understood and are not");
  // Without `crit` it has no meaning, and a reader that follows it anyway sees another payload (RFC 7797 §6).
  if (Object.hasOwn(header, "b64")) throw new TokenFault("has a payload in another encoding");
  if (keyId !== undefined && (typeof keyId !== "string" || keyId.length > maxKeyIdLength)) {
    throw new TokenFault("has a key id that is not a short text");
  }
  const payload = readPart("payload", second);
  const signature = decode(third);
  if (!signature) throw new TokenFault("has a signature that is not base64url");
  return { header, payload, algorithm, keyId, signed: `${first}.${second}`, signature };
}

function readPart(what: string, text: string): JsonObject {
  const bytes = decode(text);
  if (!bytes) throw new TokenFault(`has a ${what} that is not base64url`);
  try {
    return parseJsonObject(bytes);
  } catch (error) {
    if (!(error instanceof JsonIssue)) throw error;
    throw new TokenFault(`has a ${what} that ${error.message}`);
  }
}

/** Undefined for a text with padding, with characters of another alphabet, or with bits left over that are not zero. */
function decode(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, "base64url");
  return bytes.toString("base64url") === text ? bytes : undefined;
}
