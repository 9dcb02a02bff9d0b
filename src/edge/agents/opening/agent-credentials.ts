/** Checks an agent's token, and what the token allows afterwards. */
import { timingSafeEqual } from "node:crypto";
import type { Clock } from "../../../lib/clock.ts";
import { Refusal } from "../../../lib/errors.ts";
import { fingerprintToken, hashToken, maxTokenBytes, tokenPrefix, tokenPrefixes } from "../../../lib/tokens.ts";
import type { CompiledCredential, RoutingTable } from "../../../routing/sites/compiled-site.ts";
import type { GatewayLogin } from "../../../tunnel/gateway-login.ts";
import type { AuthRequest } from "../../../tunnel/server-hooks.ts";
import { compileAcl } from "../../../lib/agent-acl.ts";
import type { AgentAcl } from "../../../lib/agent-acl.ts";

/** An authenticated credential. */
export interface Grant {
  readonly credentialId: string;
  readonly accountId: string;
  readonly acl: AgentAcl;
  /** SHA-256 of the token, from which generated names are derived. */
  readonly tokenHash: Buffer;
  /** Expiry time. Undefined if it never expires. */
  readonly expiresAtMs: number | undefined;
}

export interface Credentials {
  /** Throws `agent_token_unknown`, `agent_api_key` or `ssh_key_unknown`. */
  authenticate(request: Pick<AuthRequest, "token" | "gateway">): Grant;
  /** Returns the credential's current rights. Undefined if it was deleted, moved to another owner or disabled. */
  current(credentialId: string): Grant | undefined;
  /** Reads a changed credential again. Returns undefined if sessions that were opened with it must end. */
  refresh(credentialId: string): Grant | undefined;
}

export function makeCredentials(table: RoutingTable, clock: Pick<Clock, "now">): Credentials {
  const inUse = new Map<string, { readonly print: string; grant: Grant }>();
  const use = (print: string, credential: CompiledCredential): Grant => {
    const known = inUse.get(credential.id)?.grant;
    const grant = known ?? grantOf(credential);
    if (!known) inUse.set(credential.id, { print, grant });
    return grant;
  };
  /** Fingerprints are public. The SSH listener has verified the signature of the key. */
  const ofKey = ({ fingerprint: print, isCertificate }: GatewayLogin): Grant => {
    const credential = table.sshKey(print, isCertificate);
    if (!credential?.active) throw new Refusal("ssh_key_unknown", unknownKey(print, isCertificate));
    return use(print, credential);
  };
  const now = (print: string): CompiledCredential | undefined =>
    table.credential(print) ?? table.sshKey(print, false) ?? table.sshKey(print, true);
  return {
    authenticate({ token, gateway }) {
      if (gateway) return ofKey(gateway);
      if (tokenPrefix(token) === tokenPrefixes.apiKey) throw new Refusal("agent_api_key");
      if (token.length === 0 || token.length > maxTokenBytes) throw new Refusal("agent_token_unknown");
      const print = fingerprintToken(token);
      const credential = table.credential(print);
      // Compares the hash even if no credential was found, so that both cases take equally long (K5).
      const hash = hashToken(token);
      const same = timingSafeEqual(credential?.tokenHash ?? Buffer.alloc(hash.length), hash);
      if (!credential?.active || !same) throw new Refusal("agent_token_unknown");
      if ((credential.expiresAtMs ?? Infinity) <= clock.now()) throw new Refusal("agent_token_unknown");
      return use(print, credential);
    },
    current: (credentialId) => inUse.get(credentialId)?.grant,
    refresh(credentialId) {
      const used = inUse.get(credentialId);
      if (!used) return undefined;
      const present = now(used.print);
      const holds =
        present !== undefined &&
        present.active &&
        present.id === credentialId &&
        present.accountId === used.grant.accountId &&
        timingSafeEqual(present.tokenHash, used.grant.tokenHash);
      if (holds) used.grant = grantOf(present);
      else inUse.delete(credentialId);
      return holds ? used.grant : undefined;
    },
  };
}

function unknownKey(print: string, isCertificate: boolean): string {
  const what = isCertificate
    ? `the certificate authority ${print}. Add its public key with POST /ssh_certificate_authorities`
    : `the key ${print}. Add it in the console, or with POST /ssh_credentials`;
  return `This server does not know ${what}.`;
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
