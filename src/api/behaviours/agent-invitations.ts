/** Invitations of agents. The code is created here and shown once. Only a hash of its secret is stored. */
import { randomBytes } from "node:crypto";
import type { Clock } from "../../lib/clock.ts";
import { formatTimestamp } from "../../lib/clock.ts";
import { hashJoinSecret, joinSecretBytes, renderJoinCode } from "../../lib/join-code.ts";
import type { JoinCode } from "../../lib/join-code.ts";
import { agentInvitation } from "../../resources/agent-invitation.ts";
import { behaviourOf } from "../objects/behaviour.ts";
import { inputRefusal } from "../operation/input-refusal.ts";
import { checkExpiry } from "./tokens.ts";

export interface InvitationRules {
  readonly clock: Clock;
  /** Returns the address at which agents reach the server, and the CA that verifies it. */
  readonly joinPlace: () => Omit<JoinCode, "secret">;
}

const usualMs = 60 * 60_000;
const longestMs = 30 * 24 * 60 * 60_000;

export function agentInvitationBehaviour({ clock, joinPlace }: InvitationRules) {
  return behaviourOf(agentInvitation, {
    prepare({ doc, previous, principal }) {
      if (previous) return { doc };
      const now = clock.now();
      const usual = formatTimestamp(Math.min(now + usualMs, principal.expiresAtMs ?? Infinity));
      const expires_at = doc.expires_at ?? usual;
      checkExpiry("agent invitation", "expires_at", expires_at, principal, now);
      checkExpiry("agent invitation", "token_expires_at", doc.token_expires_at, principal, now);
      if (Date.parse(expires_at) > now + longestMs) {
        const message = `must not be later than ${formatTimestamp(now + longestMs)} (30 days), is ${expires_at}`;
        throw inputRefusal("agent invitation", [{ path: "expires_at", message }]);
      }
      const secret = randomBytes(joinSecretBytes);
      return {
        doc: { ...doc, expires_at, code_hash: hashJoinSecret(secret) },
        shown: { code: renderJoinCode({ ...joinPlace(), secret }) },
      };
    },
    live: () => ({ code: null }),
  });
}
