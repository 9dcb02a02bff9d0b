import { f } from "../schema/fields.ts";
import type { StringFormat } from "../schema/fields.ts";
import { oauthCallback } from "../identity/code-method.ts";
import type { Logins } from "../identity/engine.ts";
import type { ManagedApp } from "../settings/kinds/oauth-apps.ts";
import { oauthProviders, scopesAsked } from "../identity/oauth/providers.ts";
import { callbackUri } from "../identity/settings.ts";
import { everybody } from "../identity/verdict.ts";
import { loginConfig } from "../identity/login-fields.ts";
import { authCheckInterval, emailAddresses, emailDomains, loginFields, scopes } from "../identity/login-fields.ts";
import { defineModule } from "../traffic/module.ts";

const team: StringFormat = {
  name: "github-team",
  example: "acme/engineering",
  check: (text) =>
    /^(?:[\w.-]+\/[\w.-]+|[0-9]+)$/.test(text) ? undefined : 'be "organization/team", or a numeric team id',
};

const application = {
  client_id: f.string("OAuth app client ID; unset: the server's own app for the provider, where it has one."),
  client_secret: f.string("OAuth app client secret.", { secret: true, maxBytes: 1024 }),
  scopes,
  email_addresses: emailAddresses,
  email_domains: emailDomains,
} as const;

const provider = (title: string, schemaName: string) =>
  f.object(`Sign-in with ${title}.`, application, { nullable: true, schemaName });

/** Scopes of GitHub without which it does not tell what the lists ask for; one of each is enough. */
const githubNeeds = [
  { lists: ["email_addresses", "email_domains"], scopes: ["user", "user:email"] },
  { lists: ["teams", "organizations"], scopes: ["read:org", "write:org", "admin:org"] },
] as const;

const chosenProvider = f.object(
  "Identity provider and who may access; exactly one of them is set.",
  {
    github: f.object(
      "Sign-in with GitHub.",
      {
        ...application,
        teams: f.list("Teams whose members may access.", f.string("A team.", { format: team }), { unique: true }),
        organizations: f.list("Organizations whose members may access.", f.string("An organization's slug."), {
          unique: true,
        }),
      },
      { nullable: true, schemaName: "EndpointOAuthGitHub" },
    ),
    facebook: provider("Facebook", "EndpointOAuthFacebook"),
    microsoft: provider("Microsoft", "EndpointOAuthMicrosoft"),
    google: provider("Google", "EndpointOAuthGoogle"),
    linkedin: provider("LinkedIn", "EndpointOAuthLinkedIn"),
    gitlab: provider("GitLab", "EndpointOAuthGitLab"),
    twitch: provider("Twitch", "EndpointOAuthTwitch"),
    amazon: provider("Amazon", "EndpointOAuthAmazon"),
  },
  { required: true, schemaName: "EndpointOAuthProvider", example: { github: {} } },
);

/** The module; without `logins` it is declared and cannot be enforced. */
export function oauthWith(logins: Logins | undefined) {
  return defineModule({
    name: "oauth",
    schemaName: "EndpointOAuth",
    on: ["https_route"],
    doc: "Lets only visitors in who sign in with a social identity provider and are on its lists.",
    acts: { request: ["refuse", "answer", "change the request"] },
    fields: {
      provider: chosenProvider,
      ...loginFields,
      auth_check_interval: authCheckInterval,
    },
    rules: [
      ({ provider }) => {
        const count = chosen(provider).length;
        return count === 1 ? undefined : { path: "provider", message: `must have exactly one provider, has ${count}` };
      },
      ({ provider }) => {
        for (const [name, app] of chosen(provider)) {
          const path = `provider.${name}`;
          if ((app.client_id === "") !== (app.client_secret === "")) {
            const missing = app.client_id === "" ? "client_id" : "client_secret";
            return { path: `${path}.${missing}`, message: "is required: client_id and client_secret go together" };
          }
          if (app.client_id !== "") continue;
          if (app.scopes.length > 0) {
            return {
              path: `${path}.scopes`,
              message: "must be empty without client_id and client_secret of your own app",
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
      if (!logins) throw new Error("enforce oauth: this server cannot log visitors in");
      const [[name, app] = ["", undefined], other] = chosen(config.provider);
      const provider = oauthProviders.get(name);
      if (!app || !provider || other) throw new Error("enforce oauth: it must have exactly one provider");
      const managed = logins.settings.apps[provider.name];
      const isOwn = app.client_id !== "";
      if (!isOwn && !managed?.clientId) {
        throw new Error(
          `enforce oauth: there is no app for ${name}: register one there with the callback ` +
            `${callbackUri(logins.settings, oauthCallback)}, and set client_id and client_secret, or have the operator ` +
            `name one (--oauth-apps)`,
        );
      }
      const teams = listOf(app, "teams");
      const organizations = listOf(app, "organizations");
      const needs = {
        memberships: teams.length + organizations.length > 0,
        refreshes: config.auth_check_interval > 0 || isOwn,
      };
      // Only where tokens are kept there is something to validate.
      const { validatesEvery = Infinity } = provider;
      const checkInterval = needs.refreshes
        ? finite(Math.min(config.auth_check_interval || Infinity, validatesEvery))
        : config.auth_check_interval;
      const wantsEmail = app.email_addresses.length + app.email_domains.length > 0;
      return logins.codeLogin(
        {
          connection: {
            kind: "oauth",
            provider: name,
            issuer: "",
            clientId: isOwn ? app.client_id : (managed as ManagedApp).clientId,
            clientSecret: isOwn ? app.client_secret : (managed as ManagedApp).clientSecret,
            scopes: scopesAsked(provider, app.scopes, needs),
            refreshes: needs.refreshes,
            baseUrl: managed?.baseUrl ?? "",
            graphVersion: managed?.graphVersion ?? "",
          },
          forwardsTokens: isOwn,
          neededScopes: name === "github" ? githubScopes(wantsEmail, needs.memberships) : [],
          ...loginConfig(config, checkInterval),
          lists: {
            ...everybody,
            emailAddresses: new Set(app.email_addresses),
            emailDomains: new Set(app.email_domains),
            teams: new Set(teams.map((one) => one.toLowerCase())),
            organizations: new Set(organizations.map((one) => one.toLowerCase())),
            managedDomains: provider.managedDomains ?? false,
          },
        },
        scope,
      );
    },
  });
}

/** One of these must be granted, or nothing that is listed can be told; with lists of both kinds either will do. */
function githubScopes(wantsEmail: boolean, wantsMemberships: boolean): readonly string[] {
  if (wantsEmail === wantsMemberships) return [];
  return wantsEmail ? githubNeeds[0].scopes : githubNeeds[1].scopes;
}

/** Seconds; 0: never. */
function finite(seconds: number): number {
  return seconds === Infinity ? 0 : seconds;
}

interface App {
  readonly client_id: string;
  readonly client_secret: string;
  readonly scopes: readonly string[];
  readonly email_addresses: readonly string[];
  readonly email_domains: readonly string[];
}

/** Lists that only GitHub has. */
function listOf(app: App, name: "teams" | "organizations"): readonly string[] {
  return (app as Partial<Record<typeof name, readonly string[]>>)[name] ?? [];
}

function chosen(provider: Readonly<Record<string, App | null>>): [string, App][] {
  return Object.entries(provider).filter((entry): entry is [string, App] => entry[1] !== null);
}
