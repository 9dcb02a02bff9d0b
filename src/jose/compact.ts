/** Parses signed tokens: JWS in compact form with a JSON object inside (RFC 7515 §7.1, RFC 7519 §7.2). */
import { JsonIssue, parseJsonObject } from "../lib/json.ts";
import type { JsonObject } from "../lib/json.ts";

/** Default maximum size of a token, bytes. Longer ones are not parsed. */
export const maxTokenBytes = 16 * 1024;

/** A well-formed token. Nothing in it is verified. */
export interface SignedToken {
  readonly header: JsonObject;
  readonly payload: JsonObject;
  readonly algorithm: string;
  /** Id of the issuer's key. */
  readonly keyId: string | undefined;
  /** The signed text: header and payload as received. */
  readonly signed: string;
  readonly signature: Buffer;
}

/** A fault in a token's form. The message never quotes the token. */
export class TokenFault extends Error {}

const maxKeyIdLength = 1024;

/**
 * Parses strictly: three parts of base64url without padding, each in its canonical spelling; header and payload are
 * JSON objects without repeated names. Members that point to a key (`jku`, `jwk`, `x5u`, `x5c`) are ignored, because
 * only the issuer's own keys count (RFC 8725 §3.10). No extension is supported, so `crit` is refused (RFC 7515
 * §4.1.11).
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
  // Without `crit` it has no effect, and a reader that applies it anyway sees a different payload (RFC 7797 §6).
  if (Object.hasOwn(header, "b64")) throw new TokenFault("has a payload in another encoding");
  if (keyId !== undefined && (typeof keyId !== "string" || keyId.length > maxKeyIdLength)) {
    throw new TokenFault("has a key id that is not a short text");
  }
  const payload = readPart("payload", second);
  const signature = decodeBase64Url(third);
  if (!signature) throw new TokenFault("has a signature that is not base64url");
  return { header, payload, algorithm, keyId, signed: `${first}.${second}`, signature };
}

function readPart(what: string, text: string): JsonObject {
  const bytes = decodeBase64Url(text);
  if (!bytes) throw new TokenFault(`has a ${what} that is not base64url`);
  try {
    return parseJsonObject(bytes);
  } catch (error) {
    if (!(error instanceof JsonIssue)) throw error;
    throw new TokenFault(`has a ${what} that ${error.message}`);
  }
}

/** Returns undefined for padding, characters outside the alphabet, or non-zero bits at the end. */
function decodeBase64Url(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, "base64url");
  return bytes.toString("base64url") === text ? bytes : undefined;
}
