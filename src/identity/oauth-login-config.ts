/** Converts the configuration of an OAuth login, from a route or policy rule, for the engine. */
import type { CodeLoginConfig } from "./login-engine.ts";
import { oauthCallback } from "./methods/code-method.ts";
import { organizationNamed, teamNamed } from "./calls/memberships.ts";
import { oauthProviders, scopesAsked } from "./oauth/oauth-providers.ts";
import { callbackUri } from "./browser/login-settings.ts";
import type { LoginSettings } from "./browser/login-settings.ts";
import { everybody } from "./sessions/login-verdict.ts";

export interface OAuthLogin {
  /** The provider's name. */
  readonly provider: string;
  /** The configured app; undefined for the server's, if it has one. */
  readonly client: { readonly id: string; readonly secret: string } | undefined;
  readonly scopes: readonly string[];
  readonly emailAddresses: readonly string[];
  readonly emailDomains: readonly string[];
  readonly teams: readonly string[];
  readonly organizations: readonly string[];
  /** Seconds; 0 means only at login. */
  readonly checkInterval: number;
}

/** Scopes without which GitHub does not return what the lists need. One of each group is enough. */
export const githubNeeds = [
  { lists: ["email_addresses", "email_domains"], scopes: ["user", "user:email"] },
  { lists: ["teams", "organizations"], scopes: ["read:org", "write:org", "admin:org"] },
] as const;

/** Throws if there is no app for the login. */
export function oauthLogin(
  login: OAuthLogin,
  settings: LoginSettings,
): Pick<CodeLoginConfig, "connection" | "forwardsTokens" | "neededScopes" | "lists" | "checkInterval"> {
  const { provider: name, client, scopes, emailAddresses, emailDomains, teams, organizations } = login;
  const provider = oauthProviders.get(name);
  if (!provider) throw new Error(`enforce oauth: there is no provider "${name}"`);
  const managed = settings.apps[provider.name];
  const clientId = client?.id ?? managed?.clientId ?? "";
  const isOwn = client !== undefined;
  if (!isOwn && clientId === "") {
    throw new Error(
      `enforce oauth: there is no app for ${name}: register one there with the callback ${callbackUri(settings, oauthCallback)}, and set client_id and client_secret, or ask the operator to configure one (--oauth-apps)`,
    );
  }
  const scopeNeeds = {
    memberships: teams.length + organizations.length > 0,
    refreshes: login.checkInterval > 0 || isOwn,
  };
  // Validation is possible only if tokens are stored.
  const { validatesEvery = Infinity } = provider;
  const checkInterval = scopeNeeds.refreshes
    ? zeroIfInfinite(Math.min(login.checkInterval || Infinity, validatesEvery))
    : login.checkInterval;
  const wantsEmail = emailAddresses.length + emailDomains.length > 0;
  return {
    connection: {
      kind: "oauth",
      provider: name,
      issuer: "",
      clientId,
      clientSecret: client?.secret ?? managed?.clientSecret ?? "",
      scopes: scopesAsked(provider, scopes, scopeNeeds),
      refreshes: scopeNeeds.refreshes,
      baseUrl: managed?.baseUrl ?? "",
      graphVersion: managed?.graphVersion ?? "",
    },
    forwardsTokens: isOwn,
    neededScopes: name === "github" ? githubScopes(wantsEmail, scopeNeeds.memberships) : [],
    checkInterval,
    lists: {
      ...everybody,
      emailAddresses: new Set(emailAddresses),
      emailDomains: new Set(emailDomains),
      teams: new Set(teams.map(teamNamed)),
      organizations: new Set(organizations.map(organizationNamed)),
      managedDomains: provider.managedDomains ?? false,
    },
  };
}

/**
 * One of these scopes must be granted, otherwise no listed entry can match. With lists of both kinds, either is enough.
 */
function githubScopes(wantsEmail: boolean, wantsMemberships: boolean): readonly string[] {
  if (wantsEmail === wantsMemberships) return [];
  return wantsEmail ? githubNeeds[0].scopes : githubNeeds[1].scopes;
}

/** Seconds; 0 means never. */
function zeroIfInfinite(seconds: number): number {
  return seconds === Infinity ? 0 : seconds;
}
