/** The console and its identity provider. Read by the control plane. */
import { consoleAccess } from "./kinds/console-access.ts";
import { redirectUri } from "./kinds/redirect-uri.ts";
import { oneOf, text } from "./kinds/text.ts";
import { httpUrl } from "./kinds/url.ts";
import { many, one, optional } from "./setting.ts";

export const consoleSettings = {
  console: one("Serve the console, the API's web interface, at the API's address.", oneOf(["on", "off"]), {
    default: "on",
  }),
  consoleOidcIssuer: optional(
    "Issuer of the team's identity provider (OpenID Connect) for logins to the console. Register the API's address with the path /console/callback there.",
    httpUrl,
    { needs: "consoleOidcClientId" },
  ),
  consoleOidcClientId: optional("Client id of the console at the identity provider.", text, {
    needs: "consoleOidcIssuer",
  }),
  consoleOidcClientSecret: optional("Client secret of the console at the identity provider.", text, {
    secret: true,
    needs: "consoleOidcIssuer",
  }),
  consoleAccess: many(
    "Access rule for logins through the identity provider: ann@example.com, @example.com or group:NAME, then the role and optionally the account. Roles: viewer (read), editor (read and write), admin (also secrets and keys). Default account: the first. If several rules match, the highest role applies. Repeatable.",
    consoleAccess,
    { needs: "consoleOidcIssuer" },
  ),
  consoleRedirectUris: many(
    "Redirect URI of an application that people may connect to the server's `/mcp`, although it does not run on their machine, or has its own scheme. Repeatable.",
    redirectUri,
  ),
} as const;
