/** An independent OpenID provider (oidc-provider), on loopback without TLS. Its login page asks for a name. */
import { once } from "node:events";
import type { RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { createServer } from "../../src/lib/http.ts";
import type { Browser, Visited } from "./browser.ts";

export interface OpenIdProvider {
  readonly issuer: string;
  /** Requests that reached the provider, by path. */
  readonly calls: string[];
  /** Claims about people, by their login name. */
  readonly people: Map<string, Readonly<Record<string, unknown>>>;
  /** Logs in as one of the people, starting from the browser's current page. Returns the last page. */
  signIn(browser: Browser, page: Visited, name: string, stop?: (url: string) => boolean): Promise<Visited>;
  stop(): Promise<void>;
}

export interface OpenIdOptions {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly redirectUris: readonly string[];
  readonly logoutUris?: readonly string[];
  readonly backchannelUri?: string;
  readonly more?: Readonly<Record<string, unknown>>;
}

/** The used part of oidc-provider, which has no types. */
type ProviderClass = new (issuer: string, options: object) => { callback(): RequestListener };

/** @param options called when the issuer is known, because the callback path depends on the issuer */
export async function startOpenIdProvider(options: (issuer: string) => OpenIdOptions): Promise<OpenIdProvider> {
  const { default: Provider } = (await import("oidc-provider" as string)) as { default: ProviderClass };
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const issuer = `http://localhost:${(server.address() as AddressInfo).port}`;
  const given = options(issuer);
  const people = new Map<string, Readonly<Record<string, unknown>>>([
    ["ada", { email: "ada@example.com", email_verified: true, name: "Ada Lovelace", preferred_username: "ada" }],
  ]);
  const calls: string[] = [];
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: given.clientId,
        client_secret: given.clientSecret,
        redirect_uris: given.redirectUris,
        post_logout_redirect_uris: given.logoutUris ?? [],
        grant_types: ["authorization_code", "refresh_token"],
        ...(given.backchannelUri && {
          backchannel_logout_uri: given.backchannelUri,
          backchannel_logout_session_required: true,
        }),
      },
    ],
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name", "preferred_username"] },
    scopes: ["openid", "offline_access", "email", "profile"],
    features: {
      devInteractions: { enabled: true },
      backchannelLogout: { enabled: true },
      rpInitiatedLogout: { enabled: true },
    },
    cookies: { keys: ["a secret of tests"] },
    findAccount: (_context: unknown, id: string) =>
      people.has(id) ? { accountId: id, claims: () => ({ sub: id, ...people.get(id) }) } : undefined,
    ...given.more,
  });
  const handle = provider.callback();
  server.on("request", (request, response) => {
    calls.push(`${request.method} ${request.url?.split("?")[0]}`);
    handle(request, response);
  });
  return {
    issuer,
    calls,
    people,
    async signIn(browser, page, name, stop) {
      let at = page;
      for (let step = 0; step < 4 && at.url.startsWith(`${issuer}/interaction/`); step += 1) {
        const isLogin = at.text.includes('name="login"');
        const body = isLogin ? `prompt=login&login=${name}&password=x` : "prompt=consent";
        at = await browser.visit(at.url, { method: "POST", body, ...(stop && { stop }) });
      }
      return at;
    },
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
