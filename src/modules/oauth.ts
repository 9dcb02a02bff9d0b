import { f } from "../schema/fields.ts";
import type { StringFormat } from "../schema/fields.ts";
import type { Logins } from "../identity/login-engine.ts";
import { githubNeeds, oauthLogin } from "../identity/oauth-login-config.ts";
import { authCheckInterval, loginConfig, loginFields } from "../identity/login-module-fields.ts";
import { machineClientIssue } from "../traffic/machine-client-fields.ts";
import { emailAddresses, emailDomains, scopes } from "../schema/login-schema.ts";
import { defineModule } from "../traffic/module.ts";

const team: StringFormat = {
  name: "github-team",
  example: "acme/engineering",
  check: (text) =>
    /^(?:[\w.-]+\/[\w.-]+|[0-9]+)$/.test(text) ? undefined : 'be "organization/team", or a numeric team id',
};

const application = {
  client_id: f.string("OAuth app client ID. If unset: the server's own app for the provider, if it has one."),
  client_secret: f.string("OAuth app client secret.", { secret: true, maxBytes: 1024 }),
  scopes,
  email_addresses: emailAddresses,
  email_domains: emailDomains,
} as const;

const providerField = (title: string, schemaName: string) =>
  f.object(`Sign-in with ${title}.`, application, { nullable: true, schemaName });

const chosenProvider = f.object(
  "Identity provider and access lists. Set exactly one provider.",
  {
    github: f.object(
      "Sign-in with GitHub.",
      {
        ...application,
        teams: f.list("Teams whose members have access.", f.string("A team.", { format: team }), { unique: true }),
        organizations: f.list("Organizations whose members have access.", f.string("An organization's slug."), {
          unique: true,
        }),
      },
      { nullable: true, schemaName: "EndpointOAuthGitHub" },
    ),
    facebook: providerField("Facebook", "EndpointOAuthFacebook"),
    microsoft: providerField("Microsoft", "EndpointOAuthMicrosoft"),
    google: providerField("Google", "EndpointOAuthGoogle"),
    linkedin: providerField("LinkedIn", "EndpointOAuthLinkedIn"),
    gitlab: providerField("GitLab", "EndpointOAuthGitLab"),
    twitch: providerField("Twitch", "EndpointOAuthTwitch"),
    amazon: providerField("Amazon", "EndpointOAuthAmazon"),
  },
  { required: true, schemaName: "EndpointOAuthProvider", example: { github: {} } },
);

/** Returns the module. Without `logins`, it is declared but cannot be enforced. */
export function oauthWith(logins: Logins | undefined) {
  return defineModule({
    name: "oauth",
    schemaName: "EndpointOAuth",
    on: ["https_route"],
    doc: "Requires a login with a social identity provider. Only visitors on the lists have access.",
    acts: { request: ["refuse", "answer", "change the request"] },
    fields: {
      provider: chosenProvider,
      ...loginFields,
      auth_check_interval: authCheckInterval,
    },
    rules: [
      machineClientIssue,
      ({ provider }) => {
        const count = chosenProviders(provider).length;
        return count === 1 ? undefined : { path: "provider", message: `must have exactly one provider, has ${count}` };
      },
      ({ provider }) => {
        for (const [name, app] of chosenProviders(provider)) {
          const path = `provider.${name}`;
          if ((app.client_id === "") !== (app.client_secret === "")) {
            const missing = app.client_id === "" ? "client_id" : "client_secret";
            return { path: `${path}.${missing}`, message: "is required: set client_id and client_secret together" };
          }
          if (app.client_id !== "") continue;
          if (app.scopes.length > 0) {
            return {
              path: `${path}.scopes`,
              message: "must be empty without your own client_id and client_secret",
            };
          }
        }
        return undefined;
      },
      ({ provider: { github } }) => {
        if (!github || github.scopes.length === 0) return undefined;
        for (const { lists, scopes: needed } of githubNeeds) {
          const list = lists.find((name) => github[name].length > 0);
          if (list && !needed.some((scope) => github.scopes.includes(scope))) {
            return { path: "provider.github.scopes", message: `must contain "${needed.join('" or "')}" for ${list}` };
          }
        }
        return undefined;
      },
    ],
    compile(config, scope) {
      if (!logins) throw new Error("enforce oauth: this server has no support for logins");
      const [[name, app] = ["", undefined], other] = chosenProviders(config.provider);
      if (!app || other) throw new Error("enforce oauth: it must have exactly one provider");
      const login = oauthLogin(
        {
          provider: name,
          client: app.client_id === "" ? undefined : { id: app.client_id, secret: app.client_secret },
          scopes: app.scopes,
          emailAddresses: app.email_addresses,
          emailDomains: app.email_domains,
          teams: listOf(app, "teams"),
          organizations: listOf(app, "organizations"),
          checkInterval: config.auth_check_interval,
        },
        logins.settings,
      );
      return logins.codeLogin({ ...loginConfig(config, 0), ...login }, scope);
    },
  });
}

interface App {
  readonly client_id: string;
  readonly client_secret: string;
  readonly scopes: readonly string[];
  readonly email_addresses: readonly string[];
  readonly email_domains: readonly string[];
}

/** Lists that only GitHub supports. */
function listOf(app: App, name: "teams" | "organizations"): readonly string[] {
  return (app as Partial<Record<typeof name, readonly string[]>>)[name] ?? [];
}

function chosenProviders(provider: Readonly<Record<string, App | null>>): [string, App][] {
  return Object.entries(provider).filter((entry): entry is [string, App] => entry[1] !== null);
}
