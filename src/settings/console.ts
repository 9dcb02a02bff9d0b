/** The console, and the team's identity provider for it. Read by the control plane. */
import { consoleAccess } from "./kinds/console-access.ts";
import { oneOf, text } from "./kinds/text.ts";
import { httpUrl } from "./kinds/url.ts";
import { many, one, optional } from "./setting.ts";

export const consoleSettings = {
  console: one("Whether there is a console, a page for people, at the API's address.", oneOf(["on", "off"]), {
    default: "on",
  }),
  consoleOidcIssuer: optional(
    "Issuer of the team's identity provider (OpenID Connect), by which people log in at the console. Register the API's address with /console/callback there.",
    httpUrl,
    { needs: "consoleOidcClientId" },
  ),
  consoleOidcClientId: optional("What that provider calls the console.", text, { needs: "consoleOidcIssuer" }),
  consoleOidcClientSecret: optional("The console's secret there.", text, { secret: true, needs: "consoleOidcIssuer" }),
  consoleAccess: many(
    "Who may use the console by that provider: ann@example.com, @example.com or group:NAME; as viewer (reads), editor (reads and writes) or admin (secrets and keys, too); in which account, the first unless given. Repeatable; the most that any of them says counts.",
    consoleAccess,
    { needs: "consoleOidcIssuer" },
  ),
} as const;
