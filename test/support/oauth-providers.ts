/**
 * The eight OAuth providers on one server. The name of each provider's host is a path prefix. The server has the
 * peculiarities of their documentation. It logs visitors in immediately, as `person` defines.
 */
import { createHash, createHmac, randomUUID } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { SignJWT, exportJWK, generateKeyPair } from "jose";
import { createServer } from "../../src/lib/http.ts";

export interface Person {
  readonly id: string;
  readonly name: string;
  readonly login: string;
  readonly email: string;
  readonly verified: boolean;
  readonly tenant?: string;
  /** Microsoft's claim that the tenant has proven its domain. */
  readonly edov?: boolean;
  /** Google's claim. */
  readonly hd?: string;
  readonly organizations?: readonly string[];
  readonly teams?: readonly { readonly id: number; readonly slug: string; readonly organization: string }[];
}

export interface OAuthProviders {
  readonly baseUrl: string;
  person: Person;
  /** Requests, as `METHOD /host/path`. */
  readonly calls: string[];
  /** The query of the last request to an authorization endpoint. */
  asked: URLSearchParams;
  /** Response to every call except those of a login, while it is set. */
  failure:
    | { readonly status: number; readonly body?: string; readonly headers?: Readonly<Record<string, string>> }
    | undefined;
  /** Registered redirect URI of visitors. If it is not set, any redirect URI is allowed. */
  callback: string | undefined;
  /** Changes the claims of the next id_tokens. */
  claims: (claims: Record<string, unknown>) => Record<string, unknown>;
  /** Granted scopes, separated by spaces. Default: the requested scopes. */
  granted: string | undefined;
  /** Whether access tokens become invalid as soon as they are issued. */
  withdraws: boolean;
  /** Value of the `error` parameter with which visitors return. */
  declines: string | undefined;
  /** Additional parameters with which visitors return. */
  returns: Readonly<Record<string, string>>;
  /** While set, only authorization gets a response. */
  hangs: boolean;
  /** Signs with a new key from now on. The key set contains only this key. */
  rotateKey(): Promise<void>;
  stop(): Promise<void>;
}

export const clientId = "client-of-tests";
export const clientSecret = "secret-of-tests";
const personal = "9188040d-6c67-4c5b-b112-36a304b66dad";

/** Properties of each provider according to its documentation. */
const pkce = new Set(["amazon", "github", "gitlab", "google", "microsoft"]);
const authorize: Readonly<Record<string, string>> = {
  "/www.amazon.com/ap/oa": "amazon",
  "/www.facebook.com/v21.0/dialog/oauth": "facebook",
  "/github.com/login/oauth/authorize": "github",
  "/gitlab.com/oauth/authorize": "gitlab",
  "/accounts.google.com/o/oauth2/v2/auth": "google",
  "/www.linkedin.com/oauth/v2/authorization": "linkedin",
  "/login.microsoftonline.com/common/oauth2/v2.0/authorize": "microsoft",
  "/id.twitch.tv/oauth2/authorize": "twitch",
};
/** Facebook has several versions at the same time. */
const pathOf = ({ pathname }: URL): string => pathname.replace(/(facebook\.com)\/v\d+\.\d+\//, "$1/v21.0/");
const token: Readonly<Record<string, string>> = {
  "/api.amazon.com/auth/o2/token": "amazon",
  "/graph.facebook.com/v21.0/oauth/access_token": "facebook",
  "/github.com/login/oauth/access_token": "github",
  "/gitlab.com/oauth/token": "gitlab",
  "/oauth2.googleapis.com/token": "google",
  "/www.linkedin.com/oauth/v2/accessToken": "linkedin",
  "/login.microsoftonline.com/common/oauth2/v2.0/token": "microsoft",
  "/id.twitch.tv/oauth2/token": "twitch",
};
const issuers: Readonly<Record<string, (person: Person) => string>> = {
  gitlab: () => "https://gitlab.com",
  google: () => "https://accounts.google.com",
  linkedin: () => "https://www.linkedin.com/oauth",
  microsoft: ({ tenant = personal }) => `https://login.microsoftonline.com/${tenant}/v2.0`,
  twitch: () => "https://id.twitch.tv/oauth2",
};
const keyPaths = new Set([
  "/gitlab.com/oauth/discovery/keys",
  "/www.googleapis.com/oauth2/v3/certs",
  "/login.microsoftonline.com/common/discovery/v2.0/keys",
  "/id.twitch.tv/oauth2/keys",
]);

export async function startOAuthProviders(): Promise<OAuthProviders> {
  let keys = 0;
  const newKey = async () => {
    const { publicKey, privateKey } = await generateKeyPair("RS256", { extractable: true });
    const kid = `k${(keys += 1)}`;
    return { privateKey, kid, jwk: { ...(await exportJWK(publicKey)), kid, use: "sig" } };
  };
  /** Created on first use, because a key takes longer than most logins. */
  let made: ReturnType<typeof newKey> | undefined;
  const signing = () => (made ??= newKey());
  /** Parameters of each login request, and the provider that issued the code. */
  const codes = new Map<string, { readonly asked: URLSearchParams; readonly name: string }>();
  const refreshTokens = new Set<string>();
  const accessTokens = new Set<string>();

  const fake: OAuthProviders = {
    baseUrl: "",
    person: { id: "4711", name: "Ada Lovelace", login: "ada", email: "ada@example.com", verified: true },
    calls: [],
    asked: new URLSearchParams(),
    failure: undefined,
    callback: undefined,
    claims: (claims) => claims,
    granted: undefined,
    withdraws: false,
    declines: undefined,
    returns: {},
    hangs: false,
    async rotateKey() {
      made = newKey();
      await made;
    },
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };

  const idToken = async (name: string, nonce: string | null, access: string): Promise<string> => {
    const { person } = fake;
    const now = Math.floor(Date.now() / 1000);
    const half = createHash("sha256").update(access).digest().subarray(0, 16).toString("base64url");
    const claims = fake.claims({
      iss: issuers[name]?.(person),
      aud: clientId,
      sub: name === "microsoft" ? `pairwise-${person.id}` : person.id,
      iat: now,
      exp: now + 600,
      at_hash: half,
      ...(nonce !== null && { nonce }),
      ...(name === "google" && person.hd !== undefined && { hd: person.hd }),
      ...(name === "microsoft" && {
        oid: person.id,
        tid: person.tenant ?? personal,
        name: person.name,
        email: person.email,
        preferred_username: person.login,
        ...(person.edov !== undefined && { xms_edov: person.edov }),
      }),
    });
    const { privateKey, kid } = await signing();
    return await new SignJWT(claims).setProtectedHeader({ alg: "RS256", kid, typ: "JWT" }).sign(privateKey);
  };
  const give = async (name: string, nonce: string | null): Promise<object> => {
    const access = `at-${randomUUID()}`;
    accessTokens.add(access);
    const refresh = `rt-${randomUUID()}`;
    const refreshes = !["github", "facebook", "linkedin"].includes(name);
    if (refreshes) refreshTokens.add(refresh);
    const scopes = fake.granted ?? fake.asked.get("scope") ?? "";
    const scope = { github: scopes.replaceAll(" ", ","), twitch: scopes.split(" ") }[name] ?? scopes;
    return {
      access_token: access,
      token_type: name === "twitch" ? "bearer" : "Bearer",
      expires_in: 3600,
      ...(name !== "facebook" && { scope }),
      ...(refreshes && { refresh_token: refresh }),
      ...(name in issuers && { id_token: await idToken(name, nonce, access) }),
    };
  };
  const refused = (response: ServerResponse, name: string, error: string): void => {
    // GitHub also answers 200 for errors.
    const body =
      name === "twitch"
        ? { status: 400, message: error }
        : name === "facebook"
          ? { error: { message: error } }
          : { error };
    send(response, name === "github" ? 200 : 400, body);
  };
  const grant = async (request: IncomingMessage, response: ServerResponse, name: string): Promise<void> => {
    const form = new URLSearchParams(await text(request));
    if (form.get("client_id") !== clientId || form.get("client_secret") !== clientSecret) {
      return refused(response, name, "invalid_client");
    }
    if (name === "github" && request.headers.accept !== "application/json")
      return send(response, 200, "access_token=x");
    if (form.get("grant_type") === "refresh_token") {
      const given = form.get("refresh_token") ?? "";
      if (!refreshTokens.has(given)) return refused(response, name, "invalid_grant");
      // GitLab's refresh tokens work once.
      if (name === "gitlab") refreshTokens.delete(given);
      return send(response, 200, await give(name, null));
    }
    const code = codes.get(form.get("code") ?? "");
    codes.delete(form.get("code") ?? "");
    if (code?.name !== name) return refused(response, name, "invalid_grant");
    const { asked } = code;
    if (asked.get("redirect_uri") !== form.get("redirect_uri")) return refused(response, name, "invalid_grant");
    const challenge = asked.get("code_challenge");
    const proof = createHash("sha256")
      .update(form.get("code_verifier") ?? "")
      .digest("base64url");
    if (pkce.has(name) ? challenge !== proof : form.has("code_verifier"))
      return refused(response, name, "invalid_grant");
    send(response, 200, await give(name, asked.get("nonce")));
  };
  const data = (request: IncomingMessage, response: ServerResponse, url: URL): void => {
    // Twitch's own token check requires a special scheme.
    const scheme = pathOf(url) === "/id.twitch.tv/oauth2/validate" ? "OAuth" : "Bearer";
    const [given, bearer = ""] = (request.headers.authorization ?? "").split(" ");
    if (given !== scheme) return send(response, 401, { message: "missing authorization token" });
    if (fake.withdraws || !accessTokens.has(bearer)) return send(response, 401, { message: "Bad credentials" });
    const { id, name, login, email, verified, hd, organizations = [], teams = [] } = fake.person;
    const userinfo = { sub: id, name, email, email_verified: verified };
    const page = Number(url.searchParams.get("page") ?? "1");
    switch (pathOf(url)) {
      case "/api.amazon.com/user/profile":
        return send(response, 200, { user_id: id, name, email });
      case "/graph.facebook.com/v21.0/me": {
        const proof = createHmac("sha256", clientSecret).update(bearer).digest("hex");
        if (url.searchParams.get("appsecret_proof") !== proof)
          return send(response, 400, { error: { message: "Invalid appsecret_proof" } });
        return send(response, 200, { id, name, ...(email !== "" && { email }) }, "text/javascript; charset=UTF-8");
      }
      case "/api.github.com/user":
        return send(response, 200, { id: Number(id), login, name, email: null });
      case "/api.github.com/user/emails":
        return send(
          response,
          200,
          page > 1
            ? []
            : [
                { email: "old@example.org", primary: false, verified: true },
                { email, primary: true, verified },
              ],
        );
      case "/api.github.com/user/orgs":
        return send(
          response,
          200,
          organizations.slice((page - 1) * 100, page * 100).map((one) => ({ login: one })),
        );
      case "/api.github.com/user/teams":
        return send(
          response,
          200,
          teams
            .slice((page - 1) * 100, page * 100)
            .map((one) => ({ id: one.id, slug: one.slug, organization: { login: one.organization } })),
        );
      case "/gitlab.com/oauth/userinfo":
        return send(response, 200, { ...userinfo, nickname: login });
      case "/openidconnect.googleapis.com/v1/userinfo":
        return send(response, 200, { ...userinfo, ...(hd !== undefined && { hd }) });
      case "/api.linkedin.com/v2/userinfo":
        return send(response, 200, userinfo);
      case "/graph.microsoft.com/v1.0/me":
        return send(response, 200, { id, displayName: name, mail: email, userPrincipalName: login });
      case "/id.twitch.tv/oauth2/validate":
        return send(response, 200, { client_id: clientId, login, user_id: id, expires_in: 3600, scopes: [] });
      case "/id.twitch.tv/oauth2/userinfo":
        return send(response, 200, { sub: id, email, email_verified: verified, preferred_username: login });
    }
    send(response, 404, { message: "Not Found" });
  };

  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://fake");
    fake.calls.push(`${request.method} ${url.pathname}`);
    const begins = authorize[pathOf(url)];
    if (begins !== undefined) {
      fake.asked = url.searchParams;
      if (fake.callback !== undefined && fake.callback !== url.searchParams.get("redirect_uri")) {
        return send(response, 400, { error: "redirect_uri_mismatch" });
      }
      const code = randomUUID();
      codes.set(code, { asked: url.searchParams, name: begins });
      const back = new URL(url.searchParams.get("redirect_uri") ?? "");
      if (fake.declines === undefined) back.searchParams.set("code", code);
      else back.searchParams.set("error", fake.declines);
      back.searchParams.set("state", url.searchParams.get("state") ?? "");
      for (const [name, value] of Object.entries(fake.returns)) back.searchParams.set(name, value);
      response.writeHead(302, { location: back.href }).end();
      return;
    }
    if (fake.hangs) return;
    if (keyPaths.has(pathOf(url))) return void signing().then(({ jwk }) => send(response, 200, { keys: [jwk] }));
    const { failure } = fake;
    if (failure) {
      response
        .writeHead(failure.status, { "content-type": "application/json", ...failure.headers })
        .end(failure.body ?? "{}");
      return;
    }
    const grants = token[pathOf(url)];
    if (grants === undefined) data(request, response, url);
    else void grant(request, response, grants);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return Object.assign(fake, { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
}

function send(response: ServerResponse, status: number, body: unknown, type = "application/json; charset=utf-8"): void {
  response.writeHead(status, { "content-type": type }).end(typeof body === "string" ? body : JSON.stringify(body));
}

async function text(request: IncomingMessage): Promise<string> {
  let whole = "";
  for await (const piece of request) whole += String(piece);
  return whole;
}
