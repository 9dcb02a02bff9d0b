/** Logins of visitors, and the server's own apps at identity providers. Read by the edge. */
import { certificates } from "./kinds/file.ts";
import { countKind } from "./kinds/number.ts";
import { oauthApps } from "./kinds/oauth-apps.ts";
import { httpUrl } from "./kinds/url.ts";
import { many, one, optional, toggle } from "./setting.ts";

export const loginSettings = {
  oauthApps: optional(
    "YAML file with the server's own apps at OAuth providers: for each provider client_id, client_secret, and base_url if the provider has another address. Only its owner may read the file.",
    oauthApps,
  ),
  // Also read by the control plane, which fetches the metadata of SAML providers.
  loginCa: optional("PEM file with the CAs that sign the certificates of identity providers.", certificates, {
    shownDefault: "the system's",
  }),
  // Also read by the control plane, which rejects other issuers over http when they are written.
  loginIssuer: many(
    "OpenID issuer that routes may use although it has an internal address or is reached over http; repeatable.",
    httpUrl,
  ),
  loginMaxSessions: one(
    "Maximum logins of an account. A further login ends the one that was unused for longest.",
    countKind("NUMBER"),
    { default: 100_000 },
  ),
  // Also read by the control plane, which ends logins that no edge reports any more.
  loginIdleDays: one("Days without use after which a login ends.", countKind("DAYS"), { default: 30 }),
  // Also read by the control plane for logins at the console.
  clockSkew: one(
    "Seconds by which the clocks of identity providers may differ from the server's clock.",
    countKind("SECONDS", 0, 300),
    {
      default: 60,
    },
  ),
  // Also read by the control plane, which reports the URL to register at providers.
  oidcSharedCallback: toggle(
    "Send visitors of every OpenID issuer back to /oauth2/callback. Use this setting only if all accounts trust each other.",
  ),
} as const;
