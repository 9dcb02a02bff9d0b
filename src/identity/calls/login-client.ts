/** What every kind of login can be asked for, by the thread that calls providers. */
import type { Identity } from "./identity.ts";
import type { ProviderMetadata, Tokens } from "./connection.ts";

export interface CodeExchange {
  readonly code: string;
  /** PKCE's; sent only to providers that take it. */
  readonly verifier: string;
  readonly nonce: string;
  readonly redirectUri: string;
}

export interface Renewed {
  readonly identity: Identity;
  readonly tokens: Tokens;
}

export interface LoggedIn extends Renewed {
  /** As granted. */
  readonly scopes: readonly string[];
  /** The session may not last longer, milliseconds since 1970; absent or 0: the provider sets no bound. */
  readonly endsAt?: number;
}

/** A log-out that the provider tells of: of a subject, of a session of it, or both. `id` must be new. */
export interface ProviderLogout {
  readonly subject: string;
  readonly session: string;
  readonly id: string;
  /** It is refused by itself from then on, milliseconds since 1970. */
  readonly untilMs: number;
}

/** Everything rejects with `LoginRefusal`. */
export interface LoginClient {
  metadata(): Promise<ProviderMetadata>;
  login(exchange: CodeExchange): Promise<LoggedIn>;
  /** Asks again, with fresh tokens where there are any to be had. */
  renew(tokens: Tokens, subject: string): Promise<Renewed>;
  /** Where the visitor is logged out of the provider, too. */
  logoutUrl?(tokens: Tokens, returnUrl: string): Promise<string | undefined>;
  loggedOut?(token: string): Promise<ProviderLogout>;
}
