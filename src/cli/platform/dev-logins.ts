/** `--sso`: has what `postern dev` publishes ask for logins at the development identity provider. */
import { isIP } from "node:net";
import type { Publication } from "../../agent/publication.ts";
import { forbiddenAddress } from "../../lib/upstream-address.ts";
import { idpUrl } from "../../lib/server-names.ts";
import type { ListenAddress } from "../../settings/kinds/address.ts";
import { oneOf } from "../../settings/kinds/text.ts";
import { flagOnly, optional } from "../../settings/setting.ts";
import { openApi } from "../api/api-client.ts";
import type { Platform } from "./platform.ts";
import { Failure } from "../process/exit.ts";
import type { SsoProvider } from "../../sso/provider.ts";

/** Where the provider listens, unless that is taken: a stable issuer keeps sessions over restarts. */
export const ssoPort = 4780;

export const ssoSetting = flagOnly(
  optional(
    "Ask visitors to log in at a development identity provider, by OpenID Connect or SAML: anybody is whoever they say. On the loopback only.",
    oneOf(["dev", "dev=oidc", "dev=saml"]),
    { flag: "sso" },
  ),
);

/** What believes everybody must be reached by nobody else. Throws `Failure` (usage). */
export function checkLoopback(listeners: Readonly<Record<string, ListenAddress | string | undefined>>): void {
  for (const [name, address] of Object.entries(listeners)) {
    const host = typeof address === "string" ? address : address?.host;
    if (host === undefined || host === "localhost" || isLoopback(host)) continue;
    throw new Failure(
      "usage",
      `--sso dev believes whoever comes, and ${name} listens on ${host === "" ? "every address" : host}: let it listen on 127.0.0.1`,
    );
  }
}

function isLoopback(host: string): boolean {
  return isIP(host) !== 0 && forbiddenAddress(host, false) === "a loopback address";
}

/** Tells the provider whom it serves; what the agent publishes then, and where if that is known. */
export async function protect(
  sso: SsoProvider,
  kind: "oidc" | "saml",
  platform: Platform,
  url: string | undefined,
): Promise<{ readonly publish: Publication; readonly url?: string }> {
  const { httpsPort, publicHttpsPort, caPem } = platform;
  sso.serve({ origin: idpUrl(platform, publicHttpsPort), port: httpsPort, caPem });
  if (kind === "oidc") {
    const { issuer, clientId, clientSecret } = sso;
    return { publish: { kind: "url", url, login: { issuer, clientId, clientSecret } } };
  }
  const labels = { "postern-dev": "saml" };
  const host = `saml.${platform.domain}`;
  await openApi({ data: "", config: undefined, apiUrl: platform.apiUrl, apiKey: platform.apiKey }).apply({
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
