/**
 * Logins that the server's own SSH thread has checked. They arrive in place of a token, sealed with the key of the
 * server, so that an edge can decide with its present configuration.
 */
import type { Proofs } from "./proofs.ts";

/** A client of the SSH listener that has proved its key. */
export interface GatewayLogin {
  /** Fingerprint of the key, or of the authority that signed the client's certificate. */
  readonly fingerprint: string;
  readonly isCertificate: boolean;
  /** Address of the client. */
  readonly ip: string;
}

export const gatewayPrefix = "postern_ssh_";
const purpose = "ssh login";
/** Time within which the login must reach the edge, milliseconds. */
const validMs = 60_000;

export function sealGatewayLogin(proofs: Proofs, login: GatewayLogin, now: number): string {
  return gatewayPrefix + proofs.seal(purpose, JSON.stringify({ ...login, until: now + validMs }));
}

/** Returns undefined if this server has not sealed the token, or not lately. */
export function unsealGatewayLogin(proofs: Proofs, token: string, now: number): GatewayLogin | undefined {
  if (!token.startsWith(gatewayPrefix)) return undefined;
  const text = proofs.unseal(purpose, token.slice(gatewayPrefix.length));
  if (text === undefined) return undefined;
  const { until, ...login } = JSON.parse(text) as GatewayLogin & { readonly until: number };
  return until > now ? login : undefined;
}
