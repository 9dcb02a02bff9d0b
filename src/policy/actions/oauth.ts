import { types } from "../../cel/checking/cel-types.ts";
import { f } from "../../schema/fields.ts";
import { defineAction } from "../language/action.ts";
import { codeLoginAction } from "../parts/code-login.ts";
import { compileClient } from "../parts/login-client-templates.ts";
import { codeLoginFields, idleField, machineClientRule, refuseCookieDomain } from "../parts/login-fields.ts";
import { identityOf, loginResults } from "../parts/login-action.ts";

const providers = ["amazon", "facebook", "github", "gitlab", "google", "linkedin", "microsoft", "twitch"] as const;

const sessionField = "current_provider_session_id";

export const oauth = defineAction({
  type: "oauth",
  phases: ["on_http_request"],
  doc: "Allows visitors who have logged in with a social identity provider, and redirects others to the provider.",
  config: {
    provider: f.oneOf("The provider.", providers, { required: true }),
    client_id: f.string(
      "Client id of your own app; can contain `${…}` that reads secrets. Default: the server's app, if it has one.",
      { maxBytes: 1024 },
    ),
    client_secret: f.string("Client secret of your own app; can contain `${…}` that reads secrets.", {
      secret: true,
      maxBytes: 1024,
    }),
    ...codeLoginFields,
    idle_session_timeout: idleField("idle_session_duration"),
  },
  rules: [
    refuseCookieDomain,
    machineClientRule,
    ({ client_id, client_secret }) => {
      if ((client_id === "") === (client_secret === "")) return undefined;
      return client_id === ""
        ? {
            path: "client_id",
            message: "is required together with client_secret",
            reason: "policy_login_client_missing",
          }
        : {
            path: "client_secret",
            message: "is required together with client_id",
            reason: "policy_login_secret_missing",
          };
    },
    ({ client_id, scopes }) =>
      client_id === "" && scopes.length > 0
        ? {
            path: "scopes",
            message: "must be empty without your own client_id and client_secret",
            reason: "policy_login_scopes",
          }
        : undefined,
  ],
  terminating: "may",
  results: {
    name: "oauth",
    fields: {
      ...loginResults(sessionField),
      access_token: types.string,
      refresh_token: types.string,
      userinfo_refreshed: types.bool,
    },
  },
  compile(config, scope) {
    return codeLoginAction(config, {
      provider: { kind: "oauth", name: config.provider },
      client: config.client_id === "" ? undefined : compileClient(config.client_id, config.client_secret, scope),
      idle: config.idle_session_timeout,
      result: (visitor, session, wasChecked) => ({
        identity: identityOf(visitor, session, sessionField),
        access_token: session?.accessToken ?? "",
        refresh_token: session?.refreshToken ?? "",
        userinfo_refreshed: wasChecked,
      }),
    });
  },
});
