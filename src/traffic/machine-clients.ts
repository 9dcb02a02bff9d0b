/** Which clients that are not browsers get tokens for a route. */
import type { MachineClientBlock } from "./machine-client-fields.ts";
import { compileScopeRule } from "./scope-rules.ts";
import type { ScopeRule } from "./scope-rules.ts";

export type Registration = "metadata" | "dynamic" | "listed";

export interface MachineClients {
  readonly registration: ReadonlySet<Registration>;
  /** Empty: every client that `registration` allows. */
  readonly clientIds: ReadonlySet<string>;
  /** Compared exactly, besides those of the client's own machine. */
  readonly redirectUris: ReadonlySet<string>;
  readonly scopes: readonly string[];
  readonly scopeRules: readonly ScopeRule[];
  /** Whether a rule reads the body of requests. */
  readonly readsBody: boolean;
  readonly accessTokenMinutes: number;
  readonly refreshTokenDays: number;
  readonly consent: "always" | "once" | "never";
}

/** Returns undefined for a login that admits browsers only. */
export function machineClientsOf(block: MachineClientBlock | null | undefined): MachineClients | undefined {
  if (!block?.enabled) return undefined;
  const scopeRules = block.scope_rules.map(({ scope, expression }) => compileScopeRule(scope, expression));
  return {
    scopeRules,
    readsBody: scopeRules.some(({ readsBody }) => readsBody),
    registration: new Set(block.registration),
    clientIds: new Set(block.client_ids),
    redirectUris: new Set(block.redirect_uris),
    scopes: block.scopes,
    accessTokenMinutes: block.access_token_minutes,
    refreshTokenDays: block.refresh_token_days,
    consent: block.consent,
  };
}
