/** The exact paths that the edge reserves on hosts with a login. */
import type { Exchange } from "../../traffic/exchange.ts";
import { answerStep } from "../../traffic/step.ts";
import type { Step } from "../../traffic/step.ts";
import { finishReturn } from "./arrive.ts";
import { beginLogin } from "../guard/begin.ts";
import { choicePage, choicesAt } from "./choices.ts";
import type { Choice } from "./choices.ts";
import { logInForClient } from "./client-login.ts";
import type { LoginContext, LoginSite } from "../guard/login-context.ts";
import { runEarlierModules, guardOf, guardsIn } from "./finish.ts";
import type { Guard } from "../guard/login-guard.ts";
import { leaveSite, sessionsOf } from "./leave.ts";
import { findResource } from "./resource-metadata.ts";
import { loginHeaders, answerRedirect } from "../browser/login-pages.ts";
import { sanitizePath } from "../browser/return-path.ts";

export interface HostPaths {
  find(
    path: string,
    site: LoginSite | undefined,
    host?: string,
  ): { request(exchange: Exchange): Step | Promise<Step>; rehearse(exchange: Exchange): Step } | undefined;
}

type Handler = (site: LoginSite, exchange: Exchange, context: LoginContext) => Step | Promise<Step>;

const by = "login";

const handlers: Readonly<Record<string, Handler>> = {
  "/.postern/authorize": logInForClient,
  "/.postern/callback": finishReturn,
  "/.postern/login": startLogin,
  "/.postern/logout": startLogout,
  "/.postern/session": showSession,
  "/.postern/jwks.json": showKeys,
  "/.postern/saml": leadToMetadata,
  "/auth/authn": startLogin,
  "/auth/logout": startLogout,
  "/ngrok/login": startLogin,
  "/ngrok/logout": startLogout,
};

export function makeHostPaths(context: LoginContext): HostPaths {
  return {
    find(path, site, host = "") {
      if (!path.startsWith("/.") && !Object.hasOwn(handlers, path)) return undefined;
      if (!site?.logins || site.logins.length === 0) return undefined;
      const resource = findResource(path, host, site, context);
      const handler = resource ? (_site: LoginSite, exchange: Exchange): Step => resource(exchange) : handlers[path];
      if (handler === undefined) return undefined;
      return {
        request: (exchange) => handler(site, exchange, context),
        rehearse: () =>
          answerStep(by, `the edge answers ${path} itself`, { status: 200, headers: loginHeaders, body: "" }),
      };
    },
  };
}

async function startLogin(site: LoginSite, exchange: Exchange, context: LoginContext): Promise<Step> {
  const { request } = exchange;
  if (request.method !== "GET") return notAllowed("GET");
  const parameters = new URLSearchParams(request.query);
  const choices = choicesAt(site, request.host, context);
  const isMeant = readMeantLogin(parameters, choices);
  let returnPath = sanitizePath(parameters.get("path") ?? parameters.get("redirect_path"));
  let { route, guards } = guardsAt(site, request.host, returnPath, isMeant);
  if (guards.length === 0) {
    const meant = choices.filter(({ guard }) => isMeant(guard));
    if (meant.length > 1) return choicePage(meant, exchange, context);
    // If the path does not require such a login, the host's login is used.
    returnPath = meant[0]?.path ?? returnPath;
    ({ route, guards } = guardsAt(site, request.host, returnPath, isMeant));
  }
  const held = sessionsOf(exchange, context);
  const isHeld = (one: Guard): boolean => held.some((session) => one.isOwn(session.record));
  // With several logins, the first missing one.
  const guard = guards.find((one) => !isHeld(one)) ?? guards[0];
  if (!route || !guard)
    return answerStep(by, "no login is required at that path", {
      status: 404,
      headers: { ...loginHeaders, "content-type": "text/plain" },
      body: "No login is required at that path.\n",
    });
  const refused = await runEarlierModules(route, guard, exchange, returnPath);
  if (refused && !guards.some((one) => refused.by === one.options.method.kind)) return refused;
  const asksForAccount = parameters.get("prompt") === "select_account";
  return await beginLogin(guard, context, exchange, {
    returnPath,
    why: "asked for",
    anew: !asksForAccount && isHeld(guard),
    prompt: asksForAccount ? "select_account" : undefined,
  });
}

/** Parses which login a visitor asks for: a realm of the host, an `auth_id`, or any. */
function readMeantLogin(parameters: URLSearchParams, choices: readonly Choice[]): (guard: Guard) => boolean {
  const tag = parameters.get("realm");
  const authId = parameters.get("auth_id");
  const isOfHost = choices.some(({ guard: { options } }) => options.realm.tag === tag);
  return ({ options }) =>
    (!isOfHost || options.realm.tag === tag) && (authId === null || (options.authId ?? "") === authId);
}

function guardsAt(site: LoginSite, host: string, path: string, isMeant: (guard: Guard) => boolean) {
  const { pathname } = new URL(path, "https://host.invalid");
  for (const one of site.members ?? [site]) {
    const route = one.findRoute(pathname, host);
    const guards = guardsIn(route).filter(isMeant);
    if (guards.length > 0) return { route, guards };
  }
  return { route: undefined, guards: [] };
}

async function startLogout(site: LoginSite, exchange: Exchange, context: LoginContext): Promise<Step> {
  const { method, query } = exchange.request;
  if (method !== "GET" && method !== "POST") return notAllowed("GET, POST");
  const parameters = new URLSearchParams(query);
  const back = sanitizePath(parameters.get("path") ?? parameters.get("redirect_path"));
  return await leaveSite(site, exchange, { back, authId: parameters.get("auth_id") }, context);
}

/** Returns the logged-in visitor as JSON, for pages that display it. */
function showSession(site: LoginSite, exchange: Exchange, context: LoginContext): Step {
  if (exchange.request.method !== "GET") return notAllowed("GET");
  const { host } = exchange.request;
  for (const session of sessionsOf(exchange, context)) {
    const guard = guardOf(site, (one) => one.isOwn(session.record));
    if (!guard || guard.faultOf(session, host) !== undefined) continue;
    const { id, identity, providerName, loginAt } = session.record;
    const { subject, email, name, username } = identity;
    const user = { id: session.record.userId, provider_user_id: subject, email, name, username };
    return answerJson(200, {
      signed_in: true,
      session: { id, logged_in_at: new Date(loginAt).toISOString() },
      user,
      provider: providerName,
    });
  }
  return answerJson(401, { signed_in: false, login_url: "/.postern/login" });
}

function showKeys(_site: LoginSite, exchange: Exchange, context: LoginContext): Step {
  if (exchange.request.method !== "GET" && exchange.request.method !== "HEAD") return notAllowed("GET");
  return keySetAnswer(context);
}

/** Redirects to the metadata, for operators who register the host at a provider and do not know the login's name. */
function leadToMetadata(site: LoginSite, exchange: Exchange): Step {
  const { method, query } = exchange.request;
  if (method !== "GET" && method !== "HEAD") return notAllowed("GET, HEAD");
  const authId = new URLSearchParams(query).get("auth_id") ?? undefined;
  const isMeant = ({ options }: Guard): boolean =>
    options.method.metadataUrl !== undefined && (authId === undefined || options.authId === authId);
  const url = guardOf(site, isMeant)?.options.method.metadataUrl;
  if (url !== undefined) return answerStep(by, "the metadata of the login", answerRedirect(302, url));
  return answerStep(by, "no login of the host has metadata", {
    status: 404,
    headers: { ...loginHeaders, "content-type": "text/plain" },
    body: "No login of this host has metadata.\n",
  });
}

export function keySetAnswer({ assertions }: LoginContext): Step {
  const headers = {
    "content-type": "application/jwk-set+json",
    "cache-control": "public, max-age=3600",
    "x-content-type-options": "nosniff",
  };
  return answerStep(by, "the keys of identity assertions", { status: 200, headers, body: assertions.keySet() });
}

export function notAllowed(allowed: string): Step {
  const headers = { ...loginHeaders, allow: allowed, "content-type": "text/plain" };
  return answerStep(by, "the method is not supported here", {
    status: 405,
    headers,
    body: `Only ${allowed} is supported here.\n`,
  });
}

function answerJson(status: number, value: object): Step {
  const headers = { ...loginHeaders, "content-type": "application/json" };
  return answerStep(by, status === 200 ? "shows the session" : "no session", {
    status,
    headers,
    body: `${JSON.stringify(value)}\n`,
  });
}
