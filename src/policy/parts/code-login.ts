/** Logins by the authorization code flow, shared by both of their actions. */
import type { StoredOf } from "../../schema/fields.ts";
import type { AskedCodeLogin } from "../../traffic/asked-login.ts";
import type { CompiledAction } from "../language/action.ts";
import { clientAt } from "./login-client-templates.ts";
import type { ClientTemplates } from "./login-client-templates.ts";
import { sharedOf } from "./login-fields.ts";
import type { codeLoginFields } from "./login-fields.ts";
import { loginAction } from "./login-action.ts";
import type { LoginAction } from "./login-action.ts";

export interface CodeLogin {
  readonly provider: AskedCodeLogin["provider"];
  /** Undefined: the server's own app. */
  readonly client: ClientTemplates | undefined;
  /** Maximum idle time; "" for no limit. */
  readonly idle: string;
  readonly result: LoginAction["result"];
}

export function codeLoginAction(
  config: StoredOf<typeof codeLoginFields>,
  { provider, client: templates, idle, result }: CodeLogin,
): CompiledAction {
  return loginAction({
    authId: config.auth_id,
    address: provider.kind === "oidc" ? provider.issuer : "",
    allowsPreflight: config.allow_cors_preflight,
    asked(place) {
      const client = templates && clientAt(templates, place);
      const login = {
        ...sharedOf(config, idle),
        provider,
        client,
        scopes: config.scopes,
        authorizeParameters: config.authz_url_params,
        emailAddresses: config.email_addresses,
        emailDomains: config.email_domains,
      };
      return { login, client };
    },
    result,
  });
}
