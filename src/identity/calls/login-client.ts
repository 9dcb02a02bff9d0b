/** Operations of every kind of login, executed by the thread that calls providers. */
import type { Identity } from "./identity.ts";
import type { ProviderMetadata, Tokens } from "./provider-connection.ts";

export interface CodeExchange {
  readonly code: string;
  /** The PKCE verifier. Sent only to providers that support it. */
  readonly verifier: string;
  readonly nonce: string;
  readonly redirectUri: string;
}

export interface Renewed {
  readonly identity: Identity;
  readonly tokens: Tokens;
}

export interface LoggedIn extends Renewed {
  /** The granted scopes. */
  readonly scopes: readonly string[];
  /** Latest end of the session, milliseconds since 1970; absent or 0 if the provider sets none. */
  readonly endsAt?: number;
}

/** A logout from the provider: of a subject, of one of its sessions, or both. `id` must not have been used before. */
export interface ProviderLogout {
  readonly subject: string;
  readonly session: string;
  readonly id: string;
  /** When it becomes invalid anyway, milliseconds since 1970. */
  readonly untilMs: number;
}

/** All methods reject with `LoginRefusal`. */
export interface LoginClient {
  metadata(): Promise<ProviderMetadata>;
  login(exchange: CodeExchange): Promise<LoggedIn>;
  /** Requests the identity again, with new tokens if possible. */
  renew(tokens: Tokens, subject: string): Promise<Renewed>;
  /** URL at which the visitor also logs out of the provider. */
  logoutUrl?(tokens: Tokens, returnUrl: string): Promise<string | undefined>;
  loggedOut?(token: string): Promise<ProviderLogout>;
}
