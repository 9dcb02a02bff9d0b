/** Converts the configuration of an OpenID Connect login, from a route or policy rule, for the engine. */
import type { CodeLoginConfig } from "./login-engine.ts";
import { everybody } from "./sessions/login-verdict.ts";

export interface OidcLogin {
  readonly issuer: string;
  readonly client: { readonly id: string; readonly secret: string };
  readonly scopes: readonly string[];
  readonly emailAddresses: readonly string[];
  readonly emailDomains: readonly string[];
}

export function oidcLogin({
  issuer,
  client,
  scopes,
  emailAddresses,
  emailDomains,
}: OidcLogin): Pick<CodeLoginConfig, "connection" | "forwardsTokens" | "neededScopes" | "lists"> {
  const asked = scopes.length === 0 ? ["openid", "profile", "email"] : scopes;
  return {
    connection: {
      kind: "oidc",
      provider: "",
      issuer,
      clientId: client.id,
      clientSecret: client.secret,
      scopes: asked.includes("openid") ? asked : ["openid", ...asked],
      refreshes: true,
      baseUrl: "",
      graphVersion: "",
    },
    forwardsTokens: true,
    neededScopes: [],
    lists: { ...everybody, emailAddresses: new Set(emailAddresses), emailDomains: new Set(emailDomains) },
  };
}
