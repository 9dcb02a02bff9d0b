import { types } from "../../cel/checking/cel-types.ts";
import { f } from "../../schema/fields.ts";
import { providerUrl } from "../../schema/login-schema.ts";
import { defineAction } from "../language/action.ts";
import { codeLoginAction } from "../parts/code-login.ts";
import { compileClient } from "../parts/login-client-templates.ts";
import { codeLoginFields, idleField, machineClientRule, refuseCookieDomain } from "../parts/login-fields.ts";
import { identityOf, loginResults } from "../parts/login-action.ts";

const sessionField = "current_session_id";

export const openidConnect = defineAction({
  type: "openid-connect",
  alias: "oidc",
  phases: ["on_http_request"],
  doc: "Allows visitors who have logged in with an OpenID Connect provider, and redirects others to the provider.",
  config: {
    issuer_url: f.string("URL of the provider, with the discovery document below it.", {
      required: true,
      maxBytes: 2048,
      format: { ...providerUrl, reason: "policy_url_invalid" },
    }),
    client_id: f.string("Client id and audience; can contain `${…}` that reads secrets.", {
      required: true,
      minBytes: 1,
      maxBytes: 1024,
    }),
    client_secret: f.string("Client secret; can contain `${…}` that reads secrets.", {
      required: true,
      secret: true,
      minBytes: 1,
      maxBytes: 1024,
    }),
    ...codeLoginFields,
    idle_session_duration: idleField("idle_session_timeout"),
  },
  rules: [refuseCookieDomain, machineClientRule],
  terminating: "may",
  results: {
    name: "oidc",
    fields: {
      ...loginResults(sessionField),
      access_token: types.string,
      refresh_token: types.string,
      identity_token: types.string,
      user_info_refreshed: types.bool,
      // The vendor's documentation has both names.
      userinfo_refreshed: types.bool,
    },
  },
  compile(config, scope) {
    return codeLoginAction(config, {
      provider: { kind: "oidc", issuer: config.issuer_url },
      client: compileClient(config.client_id, config.client_secret, scope),
      idle: config.idle_session_duration,
      result: (visitor, session, wasChecked) => ({
        identity: identityOf(visitor, session, sessionField),
        access_token: session?.accessToken ?? "",
        refresh_token: session?.refreshToken ?? "",
        identity_token: session?.idToken ?? "",
        user_info_refreshed: wasChecked,
        userinfo_refreshed: wasChecked,
      }),
    });
  },
});
