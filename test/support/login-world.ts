/** A platform with one HTTPS edge and a service. Its routes require a login with the fake providers. */
import assert from "node:assert/strict";
import type { PlatformOptions } from "../../src/cli/platform/platform.ts";
import type { ManagedApps } from "../../src/settings/kinds/oauth-apps.ts";
import { openBrowser } from "./browser.ts";
import type { Browser, BrowserOptions, Visited } from "./browser.ts";
import { clientId, clientSecret, startOAuthProviders } from "./oauth-providers.ts";
import type { OAuthProviders } from "./oauth-providers.ts";
import { startPlatform } from "./platform.ts";
import type { TestPlatform } from "./platform.ts";
import { startHttpService } from "./services.ts";
import type { HttpService } from "./services.ts";

export interface LoginWorld {
  readonly platform: TestPlatform;
  readonly providers: OAuthProviders;
  readonly upstream: HttpService;
  /** Requests that reached the service. */
  readonly received: {
    readonly method: string;
    readonly url: string;
    readonly headers: Record<string, string | string[] | undefined>;
  }[];
  readonly edgeId: string;
  readonly backendId: string;
  origin(host?: string): string;
  /** Adds a route, and waits until it is served. */
  route(match: string, modules: object): Promise<string>;
  change(routeId: string, modules: object): Promise<void>;
  browser(http?: BrowserOptions["http"]): Browser;
  stop(): Promise<void>;
}

export const names = ["amazon", "facebook", "github", "gitlab", "google", "linkedin", "microsoft", "twitch"] as const;

/** Returns an app at each of the fake providers. */
function everyApp(baseUrl: string): ManagedApps {
  const app = { clientId, clientSecret, baseUrl, graphVersion: "" };
  return Object.fromEntries(names.map((name) => [name, app]));
}

/** @param appsAt returns the server's own apps for the providers' URL */
export async function startLoginWorld(
  options: Partial<PlatformOptions> = {},
  appsAt: (baseUrl: string) => ManagedApps = everyApp,
): Promise<LoginWorld> {
  const providers = await startOAuthProviders();
  const platform = await startPlatform({
    allowLocalUpstreams: true,
    oauthApps: appsAt(providers.baseUrl),
    ...options,
  });
  const received: LoginWorld["received"] = [];
  const upstream = await startHttpService((request, response) => {
    const { method = "", url = "", headers } = request;
    received.push({ method, url, headers });
    const planted = url.startsWith("/plant") ? [`__Host-service.session.aaaaaaaa=x; Path=/; Secure`, "own=1"] : [];
    response.writeHead(200, { "content-type": "application/json", "set-cookie": planted });
    response.end(JSON.stringify({ method, url, headers }));
  });
  const edge = (await platform.api("POST", "/edges/https", { hostports: ["app.localhost:443", "other.localhost:443"] }))
    .body;
  const backend = (await platform.api("POST", "/backends/static", { address: `127.0.0.1:${upstream.port}` })).body;
  return {
    platform,
    providers,
    upstream,
    received,
    edgeId: edge.id,
    backendId: backend.id,
    origin: (host = "app.localhost") => `https://${host}:${platform.httpsPort}`,
    async route(match, modules) {
      const made = await platform.api("POST", `/edges/https/${edge.id}/routes`, {
        match_type: "path_prefix",
        match,
        backend: { backend_id: backend.id },
        ...modules,
      });
      assert.equal(made.status, 201, JSON.stringify(made.body));
      return made.body.id;
    },
    async change(routeId, modules) {
      const changed = await platform.api("PATCH", `/edges/https/${edge.id}/routes/${routeId}`, modules);
      assert.equal(changed.status, 200, JSON.stringify(changed.body));
    },
    browser: (http = "h1") => openBrowser({ ca: platform.caPem, http }),
    async stop() {
      await platform.stop();
      await upstream.stop();
      await providers.stop();
    },
  };
}

/** Returns the last request as the service saw it. */
export function seen(answer: { readonly text: string }): Record<string, string | undefined> {
  return (JSON.parse(answer.text) as { headers: Record<string, string> }).headers;
}

export function codeOf({ headers }: Visited): string {
  const code = headers["postern-error-code"];
  return typeof code === "string" ? code.replace("ERR_POSTERN_", "") : "";
}
