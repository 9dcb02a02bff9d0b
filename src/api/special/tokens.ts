/** API keys and agent tokens: made here, shown once, kept as a hash. */
import { Refusal } from "../../lib/errors.ts";
import { fingerprint, hashToken, newToken, tokenPrefixes } from "../../lib/tokens.ts";
import type { TokenPrefix } from "../../lib/tokens.ts";
import type { Doc } from "../../schema/parse.ts";
import { inputRefusal } from "../problems.ts";
import { scopeIssue } from "../scopes/scope-kinds.ts";
import type { Special, Surroundings } from "./special.ts";

export function apiKeySpecial({ keys }: Surroundings): Special {
  return {
    prepare({ doc, previous, principal }) {
      if (previous) return { doc };
      if (doc["operator"] === true && !principal.operator) {
        throw new Refusal("operator_only", "only an operator's key can create an operator's key");
      }
      const wrong = (doc["scopes"] as readonly string[]).map(scopeIssue);
      const issues = wrong.flatMap((must, index) =>
        must === undefined ? [] : [{ path: `scopes[${index}]`, message: `must ${must}` }],
      );
      if (issues.length > 0) throw inputRefusal("API key", issues);
      return withToken(doc, newToken(tokenPrefixes.apiKey));
    },
    live: (object) => ({ token: null, last_used_at: keys.lastUsedAt(object.id) }),
  };
}

export const credentialSpecial: Special = {
  prepare: ({ doc, previous }) => (previous ? { doc } : withToken(doc, newToken(tokenPrefixes.agent))),
};

/** `doc` with what is kept of `token`. */
function withToken(doc: Doc, token: string): { readonly doc: Doc; readonly shown: Doc } {
  const kept = { token_hash: hashToken(token).toString("hex"), fingerprint: fingerprint(token) };
  return { doc: { ...doc, ...kept }, shown: { token } };
}

/** A complete document of an API key or agent token for one that the server makes itself. */
export function tokenDoc(prefix: TokenPrefix, token: string, description: string, operator: boolean): Doc {
  const common = { description, metadata: "", owner_id: null };
  const own = prefix === tokenPrefixes.apiKey ? { operator, scopes: [] } : { acl: [] };
  return { ...common, ...own, ...withToken({}, token).doc };
}
