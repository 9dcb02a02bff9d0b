/** Logins of visitors, and the server's own apps at identity providers. Read by the edge. */
import { certificates } from "./kinds/file.ts";
import { count } from "./kinds/number.ts";
import { oauthApps } from "./kinds/oauth-apps.ts";
import { httpUrl } from "./kinds/url.ts";
import { many, one, optional, toggle } from "./setting.ts";

export const loginSettings = {
  oauthApps: optional(
    "YAML file, readable by its owner alone, with the server's own apps at OAuth providers: provider, then client_id, client_secret, and base_url where the provider is elsewhere.",
    oauthApps,
  ),
  // Read by the control plane as well, which looks for the metadata of SAML providers.
  loginCa: optional("PEM file of the authorities that identity providers have their certificates from.", certificates, {
    shownDefault: "the system's",
  }),
  // Read by the control plane as well, which refuses others over http when they are written.
  loginIssuer: many(
    "OpenID issuer that routes may name though it is at an address inside, or reached over http; repeatable.",
    httpUrl,
  ),
  loginMaxSessions: one(
    "Logins that an account may have; with one more the one that was unused for longest ends.",
    count("NUMBER"),
    { default: 100_000 },
  ),
  // Read by the control plane as well, which ends the logins that no edge speaks of any more.
  loginIdleDays: one("Days of disuse after which a login ends.", count("DAYS"), { default: 30 }),
  // Read by the control plane as well, for log-ins at the console.
  clockSkew: one("Seconds by which the clocks of identity providers may differ.", count("SECONDS", 0, 300), {
    default: 60,
  }),
  // Read by the control plane as well, which says what to register at providers.
  oidcSharedCallback: toggle(
    "Have the visitors of every OpenID issuer come back at /oauth2/callback: only where all accounts trust each other.",
  ),
} as const;
