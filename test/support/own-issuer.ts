/** A handmade OpenID issuer, on loopback without TLS. It behaves like a real one, except for what a test changes. */
import { createHash, createPublicKey, generateKeyPairSync, randomUUID } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { SignatureAlgorithm } from "../../src/jose/algorithms.ts";
import { createServer } from "../../src/lib/http.ts";
import { makeToken } from "./tokens.ts";

export type Claims = Record<string, unknown>;

/** Creates an id_token from the claims of a login. */
export type Forge = (claims: Claims) => string;

export interface OwnIssuer {
  readonly url: string;
  /** Requested paths. */
  readonly calls: string[];
  /** Refresh tokens that clients used. */
  readonly refreshed: string[];
  /** The issuer's key in the key set, and a key outside the key set. */
  readonly key: KeyObject;
  readonly other: KeyObject;
  /** Creates the id_token of the next logins; "" for none. */
  forge: Forge;
  /** The person who logs in, and their session at the issuer. */
  subject: string;
  session: string;
  /** Userinfo that replaces the default. */
  userinfo: Claims;
  /** Creates a signed token from the userinfo claims; undefined: the userinfo is JSON. */
  signsUserinfo: Forge | undefined;
  /** The content type of JSON responses; undefined: none. */
  contentType: string | undefined;
  configuration: Claims;
  keySet: readonly object[];
  /** Registered redirect URIs after login and logout. If empty, any URI is allowed. */
  callbacks: readonly string[];
  /** Additional parameters with which visitors return. */
  returns: Readonly<Record<string, string>>;
  /** Additional members of token responses. */
  granted: Claims;
  /** Statuses that replace 200, by path. The bodies stay the same. */
  statuses: Readonly<Record<string, number>>;
  /** @param header if `alg` is not RS256, the token is signed with that algorithm */
  sign(payload: Claims | string, header?: Claims, by?: KeyObject): string;
  stop(): Promise<void>;
}

/**
 * Starts the issuer. It accepts each code once, from the client of that code, with the verifier and the redirect URI of
 * the request.
 */
export async function startOwnIssuer(): Promise<OwnIssuer> {
  const key = newKey();
  let other: KeyObject | undefined;
  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://localhost:${(server.address() as AddressInfo).port}`;
  const codes = new Map<string, URLSearchParams>();

  const issuer: OwnIssuer = {
    url,
    calls: [],
    refreshed: [],
    key,
    get other() {
      return (other ??= newKey());
    },
    forge: (claims) => issuer.sign(claims),
    subject: "ada",
    session: "s1",
    userinfo: {},
    signsUserinfo: undefined,
    contentType: "application/json",
    configuration: {},
    keySet: [{ ...createPublicKey(key).export({ format: "jwk" }), kid: "k", use: "sig" }],
    callbacks: [],
    returns: {},
    granted: {},
    statuses: {},
    sign: (payload, header = {}, by = key) => {
      const { alg = "RS256", ...more } = header;
      return makeToken(alg as SignatureAlgorithm, payload, { kid: "k", ...more }, { privateKey: by });
    },
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
  const mayLeadTo = (url: string | null): boolean =>
    issuer.callbacks.length === 0 || issuer.callbacks.includes(url ?? "");
  const logOut = (asked: URLSearchParams, response: ServerResponse): void => {
    const location = asked.get("post_logout_redirect_uri") ?? "";
    response.writeHead(mayLeadTo(location) ? 302 : 400, { location }).end();
  };
  const authorize = (asked: URLSearchParams, response: ServerResponse): void => {
    if (!mayLeadTo(asked.get("redirect_uri"))) return void response.writeHead(400).end();
    const code = randomUUID();
    codes.set(code, asked);
    const back = new URL(asked.get("redirect_uri") ?? "");
    for (const [name, value] of Object.entries({ code, state: asked.get("state") ?? "", ...issuer.returns })) {
      back.searchParams.set(name, value);
    }
    response.writeHead(302, { location: back.href }).end();
  };
  const tokensFor = (clientId: string, nonce: string | null): object => {
    const { subject: sub, session: sid } = issuer;
    const now = Math.floor(Date.now() / 1000);
    const login = { iss: url, aud: clientId, sub, sid, iat: now, exp: now + 300, ...(nonce !== null && { nonce }) };
    const id_token = issuer.forge({ ...login, email: `${sub}@example.com`, email_verified: true });
    const tokens = { access_token: "at", token_type: "Bearer", refresh_token: "rt" };
    return { ...tokens, ...(id_token !== "" && { id_token }), ...issuer.granted };
  };
  const grant = async (request: IncomingMessage): Promise<object> => {
    let body = "";
    for await (const piece of request) body += String(piece);
    const form = new URLSearchParams(body);
    const [, credentials = ""] = (request.headers.authorization ?? "").split(" ");
    const [clientId = ""] = Buffer.from(credentials, "base64").toString().split(":");
    if (form.get("grant_type") === "refresh_token") {
      issuer.refreshed.push(form.get("refresh_token") ?? "");
      return tokensFor(clientId, null);
    }
    const asked = codes.get(form.get("code") ?? "");
    codes.delete(form.get("code") ?? "");
    const verifier = form.get("code_verifier") ?? "";
    const proof = createHash("sha256").update(verifier).digest("base64url");
    const isOwn =
      asked?.get("client_id") === clientId &&
      asked.get("redirect_uri") === form.get("redirect_uri") &&
      asked.get("code_challenge") === proof;
    return isOwn ? tokensFor(clientId, asked.get("nonce")) : { error: "invalid_grant" };
  };
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname, searchParams } = new URL(request.url ?? "/", url);
    issuer.calls.push(pathname);
    if (pathname === "/authorize") return authorize(searchParams, response);
    if (pathname === "/end") return logOut(searchParams, response);
    const answers: Readonly<Record<string, () => object | Promise<object>>> = {
      "/token": () => grant(request),
      "/jwks": () => ({ keys: issuer.keySet }),
      "/userinfo": () => ({ sub: issuer.subject, name: "Ada", groups: [], ...issuer.userinfo }),
      "/.well-known/openid-configuration": () => ({
        issuer: url,
        authorization_endpoint: `${url}/authorize`,
        token_endpoint: `${url}/token`,
        userinfo_endpoint: `${url}/userinfo`,
        jwks_uri: `${url}/jwks`,
        id_token_signing_alg_values_supported: ["RS256"],
        ...issuer.configuration,
      }),
    };
    const body = (await answers[pathname]?.()) ?? { keys: [] };
    if (pathname === "/userinfo" && issuer.signsUserinfo) {
      response.writeHead(200, { "content-type": "application/jwt" }).end(issuer.signsUserinfo(body as Claims));
      return;
    }
    const { contentType } = issuer;
    const status = "error" in body ? 400 : (issuer.statuses[pathname] ?? 200);
    response
      .writeHead(status, contentType === undefined ? {} : { "content-type": contentType })
      .end(JSON.stringify(body));
  };
  return issuer;
}

function newKey(): KeyObject {
  return generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
}
