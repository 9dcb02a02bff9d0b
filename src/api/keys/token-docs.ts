/** The stored form of a token: its hash, never the token itself. */
import { fingerprintToken, hashToken, tokenPrefixes } from "../../lib/tokens.ts";
import type { TokenPrefix } from "../../lib/tokens.ts";
import type { Doc } from "../../schema/doc.ts";

/** Returns `doc` with the hash of `token`. */
export function withToken<D extends Doc>(doc: D, token: string) {
  const hashed = { token_hash: hashToken(token).toString("hex"), fingerprint: fingerprintToken(token) };
  return { doc: { ...doc, ...hashed }, shown: { token } };
}

/** Returns a complete document of an API key or agent token that the server itself creates. */
export function tokenDoc(prefix: TokenPrefix, token: string, description: string, operator: boolean): Doc {
  const common = { description, metadata: "", owner_id: null, expires_at: null };
  const own = prefix === tokenPrefixes.apiKey ? { operator, scopes: [] } : { acl: [] };
  return { ...common, ...own, ...withToken({}, token).doc };
}
