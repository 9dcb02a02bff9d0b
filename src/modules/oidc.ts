import { f } from "../schema/fields.ts";
import type { Logins } from "../identity/login-engine.ts";
import { checkPlace } from "../identity/methods/provider-place.ts";
import { oidcLogin } from "../identity/oidc-login-config.ts";
import { loginConfig, loginFields } from "../identity/login-module-fields.ts";
import { machineClientIssue } from "../traffic/machine-client-fields.ts";
import type { MachineClientBlock } from "../traffic/machine-client-fields.ts";
import { providerUrl, scopes } from "../schema/login-schema.ts";
import { defineModule } from "../traffic/module.ts";
import type { CompiledModule, Scope } from "../traffic/module.ts";

/** Returns the module. Without `logins`, it is declared but cannot be enforced. */
export function oidcWith(logins: Logins | undefined) {
  return defineModule({
    name: "oidc",
    schemaName: "EndpointOIDC",
    on: ["https_route"],
    doc: "Requires a login with an OpenID Connect provider.",
    acts: { request: ["refuse", "answer", "change the request"] },
    fields: {
      ...loginFields,
      issuer: f.string("URL of the OpenID provider; base URL for discovery.", {
        required: true,
        maxBytes: 2048,
        format: providerUrl,
      }),
      client_id: f.string("Client ID and audience.", { required: true }),
      client_secret: f.string("Client secret.", { required: true, secret: true, maxBytes: 1024 }),
      scopes,
      email_addresses: agentsList("E-mail addresses that have access to an agent's endpoint."),
      email_domains: agentsList("E-mail domains that have access to an agent's endpoint."),
    },
    rules: [machineClientIssue],
    compile(config, scope) {
      return compileOidc(config, logins, scope);
    },
  });
}

/** Routes have no such lists. Agents send them with their options. */
function agentsList(doc: string) {
  return f.list(doc, f.string("An entry."), { internal: true });
}

interface OidcConfig {
  readonly issuer: string;
  readonly client_id: string;
  readonly client_secret: string;
  readonly scopes: readonly string[];
  readonly email_addresses: readonly string[];
  readonly email_domains: readonly string[];
  readonly options_passthrough: boolean;
  readonly cookie_prefix: string;
  readonly inactivity_timeout: number;
  readonly maximum_duration: number;
  readonly machine_clients: MachineClientBlock | null;
}

function compileOidc(config: OidcConfig, logins: Logins | undefined, scope: Scope): CompiledModule {
  if (!logins) throw new Error("enforce oidc: this server has no support for logins");
  // Values from an agent have not been validated. Values from the API were validated when they were written.
  if (scope.endpointHost !== undefined) checkPlace("oidc", config.issuer, logins.settings);
  const login = oidcLogin({
    issuer: config.issuer,
    client: { id: config.client_id, secret: config.client_secret },
    scopes: config.scopes,
    emailAddresses: config.email_addresses,
    emailDomains: config.email_domains,
  });
  return logins.codeLogin({ ...loginConfig(config, 0), ...login }, scope);
}
