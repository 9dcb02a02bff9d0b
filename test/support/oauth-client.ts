/** A client that is not a browser: discovers the authorization server, and gets tokens through a person's browser. */
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import type { Browser, Visited } from "./browser.ts";

export interface ServerMetadata {
  readonly issuer: string;
  readonly authorization_endpoint: string;
  readonly token_endpoint: string;
  readonly registration_endpoint: string;
  readonly revocation_endpoint: string;
  readonly jwks_uri: string;
}

export interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly expires_in: number;
  readonly scope: string;
}

export const redirectUri = "http://127.0.0.1:4711/callback";

/** Follows the challenge of a request without a token. */
export async function discover(browser: Browser, url: string) {
  const refused = await browser.ask(url, { headers: { accept: "application/json" } });
  assert.equal(refused.status, 401, refused.text);
  const challenge = String(refused.headers["www-authenticate"]);
  const at = /^Bearer .*resource_metadata="([^"]+)"/.exec(challenge)?.[1];
  assert.ok(at, challenge);
  const resource = json(await browser.ask(at)) as { resource: string; authorization_servers: string[] };
  const issuer = new URL(resource.authorization_servers[0] as string);
  const server = json(
    await browser.ask(`${issuer.origin}/.well-known/oauth-authorization-server${issuer.pathname}`),
  ) as ServerMetadata;
  assert.equal(server.issuer, issuer.href);
  return { resource: resource.resource, server, challenge };
}

export async function register(browser: Browser, server: ServerMetadata, uris: readonly string[] = [redirectUri]) {
  const answer = await browser.ask(server.registration_endpoint, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ client_name: "Test client", redirect_uris: uris }),
  });
  assert.equal(answer.status, 201, answer.text);
  return (json(answer) as { client_id: string }).client_id;
}

export interface Asked {
  readonly server: ServerMetadata;
  readonly clientId: string;
  readonly resource: string;
  readonly redirectUri?: string;
  readonly scope?: string;
  /** Replaces or removes parameters. */
  readonly changes?: Readonly<Record<string, string | undefined>>;
}

export interface Begun {
  readonly url: string;
  readonly verifier: string;
  readonly state: string;
}

/** Returns the URL that the client opens in the person's browser. */
export function authorizationUrl(asked: Asked): Begun {
  const verifier = randomBytes(32).toString("base64url");
  const state = randomBytes(8).toString("hex");
  const parameters: Record<string, string | undefined> = {
    response_type: "code",
    client_id: asked.clientId,
    redirect_uri: asked.redirectUri ?? redirectUri,
    state,
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
    resource: asked.resource,
    scope: asked.scope,
    ...asked.changes,
  };
  const url = new URL(asked.server.authorization_endpoint);
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) url.searchParams.set(name, value);
  return { url: url.href, verifier, state };
}

/** Visits the URL until the consent page, or until the browser would leave for the client. */
export async function logIn(browser: Browser, url: string, target = redirectUri): Promise<Visited> {
  return await browser.visit(url, { stop: (next) => next.startsWith(target) });
}

/** Presses a button of the consent page. */
export async function decide(browser: Browser, page: Visited, decision: "allow" | "deny"): Promise<Visited> {
  const ticket = /name="ticket" value="([^"]+)"/.exec(page.text)?.[1] ?? "";
  assert.notEqual(ticket, "", page.text);
  const action = new URL(/action="([^"]+)"/.exec(page.text)?.[1] ?? "", page.url);
  return await browser.ask(action.href, {
    method: "POST",
    body: new URLSearchParams({ ticket, decision }).toString(),
    headers: { "sec-fetch-site": "same-origin" },
  });
}

/** What the client receives at its redirect URI. */
export function received(answer: Visited): URLSearchParams {
  assert.equal(answer.status, 303, answer.text);
  return new URL(String(answer.headers.location)).searchParams;
}

/** The whole way from the authorization URL to a code. */
export async function codeFor(browser: Browser, asked: Asked) {
  const begun = authorizationUrl(asked);
  const page = await logIn(browser, begun.url, asked.redirectUri);
  const back = received(page.status === 200 ? await decide(browser, page, "allow") : page);
  assert.equal(back.get("state"), begun.state);
  assert.equal(back.get("iss"), asked.server.issuer);
  return { code: back.get("code") ?? "", verifier: begun.verifier };
}

export async function askForm(browser: Browser, url: string, form: Readonly<Record<string, string>>): Promise<Visited> {
  return await browser.ask(url, { method: "POST", body: new URLSearchParams(form).toString() });
}

export async function exchange(
  browser: Browser,
  asked: Asked,
  { code, verifier }: { readonly code: string; readonly verifier: string },
  changes: Readonly<Record<string, string>> = {},
): Promise<Visited> {
  return await askForm(browser, asked.server.token_endpoint, {
    grant_type: "authorization_code",
    code,
    redirect_uri: asked.redirectUri ?? redirectUri,
    client_id: asked.clientId,
    code_verifier: verifier,
    resource: asked.resource,
    ...changes,
  });
}

/** The whole way to tokens. */
export async function tokensFor(browser: Browser, asked: Asked): Promise<Tokens> {
  const answer = await exchange(browser, asked, await codeFor(browser, asked));
  assert.equal(answer.status, 200, answer.text);
  return json(answer) as Tokens;
}

export async function refresh(
  browser: Browser,
  asked: Asked,
  token: string,
  changes: Readonly<Record<string, string>> = {},
): Promise<Visited> {
  const form = { grant_type: "refresh_token", refresh_token: token, client_id: asked.clientId, ...changes };
  return await askForm(browser, asked.server.token_endpoint, form);
}

export function json({ text }: Visited): unknown {
  return JSON.parse(text);
}
