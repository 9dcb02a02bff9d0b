/** Who an agent is: the check of its token, and what the token allows from then on. */
import { timingSafeEqual } from "node:crypto";
import type { Clock } from "../../../lib/clock.ts";
import { Refusal } from "../../../lib/errors.ts";
import { fingerprint, hashToken, maxTokenBytes, tokenPrefix, tokenPrefixes } from "../../../lib/tokens.ts";
import type { CompiledCredential, RoutingTable } from "../../../routing/sites/compiled.ts";
import type { AuthRequest } from "../../../tunnel/server-hooks.ts";
import { compileAcl } from "../../../lib/agent-acl.ts";
import type { AgentAcl } from "../../../lib/agent-acl.ts";

/** A credential in use. */
export interface Grant {
  readonly credentialId: string;
  readonly accountId: string;
  readonly acl: AgentAcl;
  /** SHA-256 of the token: what generated names are made from. */
  readonly tokenHash: Buffer;
  /** When it stops working; undefined: never. */
  readonly expiresAtMs: number | undefined;
}

export interface Credentials {
  /** Throws `agent_token_unknown` or `agent_api_key`. */
  authenticate(request: AuthRequest): Grant;
  /** What the credential allows as it is now; undefined once it is gone, changed hands or was switched off. */
  current(credentialId: string): Grant | undefined;
  /** Reads a changed credential again; undefined when sessions that were opened with it have to go. */
  refresh(credentialId: string): Grant | undefined;
}

export function makeCredentials(table: RoutingTable, clock: Pick<Clock, "now">): Credentials {
  const inUse = new Map<string, { readonly print: string; grant: Grant }>();
  return {
    authenticate({ token }) {
      if (tokenPrefix(token) === tokenPrefixes.apiKey) throw new Refusal("agent_api_key");
      if (token.length === 0 || token.length > maxTokenBytes) throw new Refusal("agent_token_unknown");
      const print = fingerprint(token);
      const credential = table.credential(print);
      // The hash is compared even when nothing was found, so that both take as long (K5).
      const hash = hashToken(token);
      const same = timingSafeEqual(credential?.tokenHash ?? Buffer.alloc(hash.length), hash);
      if (!credential?.active || !same) throw new Refusal("agent_token_unknown");
      if ((credential.expiresAtMs ?? Infinity) <= clock.now()) throw new Refusal("agent_token_unknown");
      const known = inUse.get(credential.id)?.grant;
      const grant = known ?? grantOf(credential);
      if (!known) inUse.set(credential.id, { print, grant });
      return grant;
    },
    current: (credentialId) => inUse.get(credentialId)?.grant,
    refresh(credentialId) {
      const used = inUse.get(credentialId);
      if (!used) return undefined;
      const now = table.credential(used.print);
      const holds =
        now !== undefined &&
        now.active &&
        now.id === credentialId &&
        now.accountId === used.grant.accountId &&
        timingSafeEqual(now.tokenHash, used.grant.tokenHash);
      if (holds) used.grant = grantOf(now);
      else inUse.delete(credentialId);
      return holds ? used.grant : undefined;
    },
  };
}

function grantOf(credential: CompiledCredential): Grant {
  return Object.freeze({
    credentialId: credential.id,
    accountId: credential.accountId,
    acl: compileAcl(credential.acl),
    tokenHash: credential.tokenHash,
    expiresAtMs: credential.expiresAtMs,
  });
}
