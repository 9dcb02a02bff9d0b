/** A login with the authorization code flow that a policy rule requires. */
import type { AskedCodeLogin } from "../traffic/asked-login.ts";
import type { LoginGuard } from "../traffic/login.ts";
import type { Scope } from "../traffic/module.ts";
import type { Logins } from "./login-engine.ts";
import { oauthLogin } from "./oauth-login-config.ts";
import { oidcLogin } from "./oidc-login-config.ts";
import { checkPlace } from "./methods/provider-place.ts";

/** Throws if there is no app for the login, or its issuer is not allowed. */
export function makeAskedCodeLogin(asked: AskedCodeLogin, logins: Logins, scope: Scope): LoginGuard {
  const { provider, client, scopes, emailAddresses, emailDomains, authorizeParameters, ...route } = asked;
  if (provider.kind === "oidc") checkPlace("openid-connect", provider.issuer, logins.settings);
  // A changing client is read on demand.
  const own = client && (client.mayChange ? { id: client.name, secret: "" } : client.read());
  const lists = { emailAddresses, emailDomains };
  const login =
    provider.kind === "oauth"
      ? oauthLogin(
          {
            provider: provider.name,
            client: own,
            scopes,
            ...lists,
            teams: [],
            organizations: [],
            checkInterval: asked.checkInterval,
          },
          logins.settings,
        )
      : oidcLogin({ issuer: provider.issuer, client: own ?? { id: "", secret: "" }, scopes, ...lists });
  return logins.codeLogin(
    {
      ...route,
      cookiePrefix: "",
      optionsPassthrough: false,
      ...login,
      authorizeParameters,
      client: client?.mayChange === true ? client : undefined,
    },
    scope,
  );
}
