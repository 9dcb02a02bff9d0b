import { types } from "../../cel/checking/types.ts";
import { f } from "../../schema/fields.ts";
import { providerUrl } from "../../schema/login-fields.ts";
import { defineAction } from "../language/action.ts";
import { clientAt, compileClient } from "../parts/login-client.ts";
import { codeLoginFields, idleField, noCookieDomain, timesOf } from "../parts/login-fields.ts";
import { identityOf, loginAction, loginResults } from "../parts/login.ts";

const sessionField = "current_session_id";

export const openidConnect = defineAction({
  type: "openid-connect",
  alias: "oidc",
  phases: ["on_http_request"],
  doc: "Lets visitors past who have logged in with an OpenID Connect provider, and sends others there.",
  config: {
    issuer_url: f.string("URL of the provider, below which its discovery document is.", {
      required: true,
      maxBytes: 2048,
      format: { ...providerUrl, reason: "policy_url_invalid" },
    }),
    client_id: f.string("Client id, and audience; may hold `${…}` that reads secrets.", {
      required: true,
      minBytes: 1,
      maxBytes: 1024,
    }),
    client_secret: f.string("Client secret; may hold `${…}` that reads secrets.", {
      required: true,
      secret: true,
      minBytes: 1,
      maxBytes: 1024,
    }),
    ...codeLoginFields,
    idle_session_duration: idleField("idle_session_timeout"),
  },
  rules: [noCookieDomain],
  terminating: "may",
  results: {
    name: "oidc",
    fields: {
      ...loginResults(sessionField),
      access_token: types.string,
      refresh_token: types.string,
      identity_token: types.string,
      user_info_refreshed: types.bool,
    },
  },
  compile(config, scope) {
    const { issuer_url, scopes, authz_url_params, email_addresses, email_domains } = config;
    const templates = compileClient(config.client_id, config.client_secret, scope);
    return loginAction({
      authId: config.auth_id,
      allowsPreflight: config.allow_cors_preflight,
      asked(place) {
        const client = clientAt(templates, place);
        const login = {
          ...timesOf(config, config.idle_session_duration),
          provider: { kind: "oidc", issuer: issuer_url } as const,
          client,
          scopes,
          authorizeParameters: authz_url_params,
          emailAddresses: email_addresses,
          emailDomains: email_domains,
        };
        return { login, client };
      },
      result: (visitor, session, wasChecked) => ({
        identity: identityOf(visitor, session, sessionField),
        access_token: session?.accessToken ?? "",
        refresh_token: session?.refreshToken ?? "",
        identity_token: session?.idToken ?? "",
        user_info_refreshed: wasChecked,
      }),
    });
  },
});
