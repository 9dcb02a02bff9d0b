/** `--sso`: the development identity provider, and the routes of `postern dev` that require its logins. */
import { isIP } from "node:net";
import type { Publication } from "../../agent/publication.ts";
import { explainForbidden } from "../../lib/upstream-address.ts";
import { systemClock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { ListenAddress } from "../../settings/kinds/address.ts";
import { oneOf } from "../../settings/kinds/text.ts";
import { flagOnly, optional } from "../../settings/setting.ts";
import { openApi } from "../api/api-client.ts";
import type { KeptProvider } from "../data/dev-url.ts";
import type { Platform } from "./platform.ts";
import { Failure } from "../process/exit.ts";
import type { SsoProvider } from "../../sso/sso-provider.ts";

const issuerAt = (port: number): string => `http://127.0.0.1:${port}`;

/**
 * URLs of the provider, which uses the first free one. A stable issuer keeps sessions across restarts. `postern dev`
 * allows all of them, so that agents on the same machine can bring a provider.
 */
export const ssoIssuers: readonly string[] = [4780, 4781, 4782, 4783].map(issuerAt);

export const ssoSetting = flagOnly(
  optional(
    "Require a login at a development identity provider (OpenID Connect or SAML). Visitors can choose any identity. Only on the loopback interface.",
    oneOf(["dev", "dev=oidc", "dev=saml"]),
    { flag: "sso" },
  ),
);

/** Returns a listener that other machines can reach, or undefined. */
export function reachableListener(
  listeners: Readonly<Record<string, ListenAddress | undefined>>,
): { readonly name: string; readonly host: string } | undefined {
  for (const [name, address] of Object.entries(listeners)) {
    if (address === undefined) continue;
    const { host = "" } = address;
    if (host !== "localhost" && !isLoopback(host)) return { name, host };
  }
  return undefined;
}

/** The provider accepts every login, so no other machine may reach it. Throws `Failure` (usage). */
export function checkLoopback(listeners: Readonly<Record<string, ListenAddress | undefined>>): void {
  const reachable = reachableListener(listeners);
  if (!reachable) return;
  const { name, host } = reachable;
  throw new Failure(
    "usage",
    `--sso dev lets visitors choose any identity, but ${name} listens on ${host === "" ? "every address" : host}: use 127.0.0.1`,
  );
}

function isLoopback(host: string): boolean {
  return isIP(host) !== 0 && explainForbidden(host, false) === "a loopback address";
}

/**
 * Starts the provider at the first of `issuers` whose port is free. Its code is loaded only here. Throws `Failure`
 * (usage) if all ports are in use.
 */
export async function startSsoProvider(
  issuers: readonly string[],
  log: Log,
  { clientSecret, signingKey, keepSigningKey }: KeptProvider,
): Promise<SsoProvider> {
  const { startSso } = await import("../../sso/sso-provider.ts");
  for (const issuer of issuers) {
    try {
      return await startSso({
        port: Number(new URL(issuer).port),
        ...(clientSecret !== undefined && { clientSecret }),
        signingKey,
        keepSigningKey,
        clock: systemClock,
        log,
      });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
    }
  }
  throw new Failure(
    "usage",
    `--sso dev: the ports of ${issuers.join(", ")} are all in use: stop a program that uses one of them`,
  );
}

/** Requires logins at the provider, for SAML with an edge. Returns the agent's publication, and the URL if known. */
export async function requireLogins(
  sso: SsoProvider,
  kind: "oidc" | "saml",
  platform: Platform,
  url: string | undefined,
): Promise<{ readonly publish: Publication; readonly url?: string }> {
  const { publicHttpsPort } = platform;
  if (kind === "oidc") {
    const { issuer, clientId, clientSecret } = sso;
    return { publish: { kind: "url", url, login: { issuer, clientId, clientSecret } } };
  }
  const labels = { "postern-dev": "saml" };
  const host = `saml.${platform.domain}`;
  const api = await openApi({ data: "", config: undefined, apiUrl: platform.apiUrl, apiKey: platform.apiKey });
  await api.apply({
    document: "postern-dev-sso",
    objects: {
      tunnel_group_backend: { agent: { labels } },
      https_edge: { edge: { hostports: [`${host}:443`] } },
      https_edge_route: {
        route: {
          edge_id: "edge",
          match_type: "path_prefix",
          match: "/",
          backend: { backend_id: "agent" },
          saml: { idp_metadata: sso.samlMetadata(), allow_idp_initiated: true },
        },
      },
    },
  });
  const port = publicHttpsPort === 443 ? "" : `:${publicHttpsPort}`;
  return { publish: { kind: "labels", labels }, url: `https://${host}${port}` };
}
