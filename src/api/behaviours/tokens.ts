/** API keys and agent tokens. They are created here and shown once. Only a hash is stored. */
import { formatTimestamp } from "../../lib/clock.ts";
import { Refusal } from "../../lib/errors.ts";
import { hashToken, newToken, tokenPrefixes } from "../../lib/tokens.ts";
import type { ApiPrincipal } from "../operation/call.ts";
import { withToken } from "../keys/token-docs.ts";
import { inputRefusal } from "../operation/input-refusal.ts";
import { scopeIssue } from "../operation/scope-kinds.ts";
import { apiKey } from "../../resources/api-key.ts";
import { credential } from "../../resources/credential.ts";
import { serviceToken } from "../../resources/service-token.ts";
import type { Clock } from "../../lib/clock.ts";
import type { LastUses } from "../keys/last-uses.ts";
import { behaviourOf } from "../objects/behaviour.ts";

export interface TokenRules {
  readonly clock: Clock;
  readonly lastUses: Pick<LastUses, "at">;
}

export function apiKeyBehaviour({ lastUses, clock }: TokenRules) {
  return behaviourOf(apiKey, {
    prepare({ doc, previous, principal }) {
      if (previous) return { doc };
      if (doc.operator && !principal.operator) {
        throw new Refusal("operator_only", "only an operator's key can create an operator's key");
      }
      const wrong = doc.scopes.map(scopeIssue);
      const issues = wrong.flatMap((must, index) =>
        must === undefined ? [] : [{ path: `scopes[${index}]`, message: `must ${must}` }],
      );
      if (issues.length > 0) throw inputRefusal("API key", issues);
      checkExpiry("API key", "expires_at", doc.expires_at, principal, clock.now());
      return withToken(doc, newToken(tokenPrefixes.apiKey));
    },
    live: (object) => ({ token: null, last_used_at: lastUses.at(object.id) }),
  });
}

export function credentialBehaviour({ lastUses, clock }: TokenRules) {
  return behaviourOf(credential, {
    prepare({ doc, previous, principal }) {
      if (previous) return { doc };
      checkExpiry("agent token", "expires_at", doc.expires_at, principal, clock.now());
      return withToken(doc, newToken(tokenPrefixes.agent));
    },
    live: (object) => ({ token: null, last_used_at: lastUses.at(object.id) }),
  });
}

export function serviceTokenBehaviour({ lastUses, clock }: TokenRules) {
  return behaviourOf(serviceToken, {
    prepare({ doc, previous, principal }) {
      if (previous?.doc.expires_at !== doc.expires_at) {
        checkExpiry("service token", "expires_at", doc.expires_at, principal, clock.now());
      }
      if (previous) return { doc };
      const token = newToken(tokenPrefixes.service);
      return { doc: { ...doc, token_hash: hashToken(token).toString("hex") }, shown: { token } };
    },
    live: (object) => ({ token: null, last_used_at: lastUses.at(object.id) }),
  });
}

/** A token must expire in the future. If the creating key expires, the token must not outlive it. */
export function checkExpiry(
  what: string,
  path: string,
  expiresAt: string | null,
  { expiresAtMs }: Pick<ApiPrincipal, "expiresAtMs">,
  nowMs: number,
): void {
  const refuse = (must: string): never => {
    throw inputRefusal(what, [{ path, message: `must ${must}, is ${expiresAt ?? "never"}` }]);
  };
  if (expiresAt !== null && Date.parse(expiresAt) <= nowMs) refuse(`be later than ${formatTimestamp(nowMs)}`);
  if (expiresAtMs === undefined || (expiresAt !== null && Date.parse(expiresAt) <= expiresAtMs)) return;
  refuse(`not be later than ${formatTimestamp(expiresAtMs)}, when the creating key expires`);
}
