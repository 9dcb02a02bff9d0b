/** The console: its pages at `/`, and getting in. All else that it does is the API, called with its session. */
import type { IncomingMessage } from "node:http";
import type { Clock } from "../../lib/clock.ts";
import { timestamp } from "../../lib/clock.ts";
import { Refusal } from "../../lib/errors.ts";
import { apiKey } from "../../resources/api-key.ts";
import { docOf } from "../../schema/doc.ts";
import type { Pages } from "../../pages/pages.ts";
import type { Store } from "../../storage/store.ts";
import type { Key, KeyRing } from "../http/authenticate.ts";
import { readBody } from "../http/body.ts";
import type { EdgeQueries } from "../edges/queries.ts";
import type { Exchange } from "../http/exchange.ts";
import type { Front, FrontReply } from "../http/front.ts";
import type { Operation, Reply } from "../operation/call.ts";
import { makeCodes } from "./codes.ts";
import type { Codes } from "./codes.ts";
import { cookieField, flowCookieField, readCookie } from "./cookie.ts";
import { makeLiveTellers } from "./live.ts";
import type { People } from "./people.ts";
import { checkHost, checkOrigin } from "./place.ts";
import { isPageToken, openConsoleSessions, pageToken } from "./sessions.ts";
import type { OpenSession } from "./sessions.ts";
import { callbackPath, loginPath } from "./team-login.ts";
import type { TeamLogin } from "./team-login.ts";

export interface ConsoleOptions {
  readonly store: Store;
  readonly keys: KeyRing;
  readonly clock: Clock;
  readonly queries: Pick<EdgeQueries, "ask">;
  /** The address that the operator has given, if any. */
  readonly apiUrl: string | undefined;
  /** The team's identity provider, where there is one, and who may come by it. */
  readonly team: { readonly login: TeamLogin; readonly people: People } | undefined;
}

export interface Console extends Front {
  readonly codes: Codes;
}

type AdmitKey = Parameters<FrontReply["run"]>[0];

const sessionPath = "/console/session";
const livePath = "/console/live";
const tokenField = "postern-console-token";

/** What is read of a log-in: `code` or `api_key`. */
const signIn: Pick<Operation, "id" | "takes" | "input"> = { id: "openConsoleSession", takes: "object" };

export function openConsole({ store, keys, clock, queries, apiUrl, team }: ConsoleOptions): Console {
  const codes = makeCodes(store, clock);
  const sessions = openConsoleSessions(store, keys, team?.people, clock);
  const live = makeLiveTellers(store, queries, clock);
  const page = makePageReplies();

  /** How else somebody may get in, for the page that asks them to. */
  const providerTold: Readonly<Record<string, string>> = team
    ? { login_title: team.login.title, login_url: loginPath }
    : {};
  const show = (session: OpenSession, cookie: string): Reply => {
    const { key, object, expiresAtMs, person } = session;
    const { accountId, id, operator } = key.principal;
    const stored = store.get(accountId, apiKey.name, id);
    const doc = stored && docOf(stored, apiKey);
    const body = {
      id: object.id,
      account_id: accountId,
      person: person ? { email: person.email, name: person.name, role: roleIn(session) } : null,
      api_key: { id, description: doc?.description ?? "", operator, scopes: doc?.scopes ?? [] },
      expires_at: timestamp(expiresAtMs),
      page_token: pageToken(cookie),
    };
    return { status: 200, body: JSON.stringify(body) };
  };
  const roleIn = ({ person, object }: OpenSession): string =>
    person && team ? team.people.admit(person, object.account_id).role : "";
  const sessionOf = (request: IncomingMessage, baseUrl: string): [OpenSession, string] => {
    const cookie = readCookie(request, baseUrl);
    if (cookie === undefined) throw new Refusal("console_session_ended", undefined, providerTold);
    return [sessions.find(cookie), cookie];
  };
  const who = (request: IncomingMessage, baseUrl: string, admit: AdmitKey): Reply => {
    const [session, cookie] = sessionOf(request, baseUrl);
    admit(session.key);
    return show(session, cookie);
  };
  const listen = ({ request, response }: Exchange, baseUrl: string, admit: AdmitKey): void => {
    const [{ key }, cookie] = sessionOf(request, baseUrl);
    admit(key);
    live.begin(key.principal.accountId, () => sessions.holds(cookie), response);
  };
  const logIn = async (exchange: Exchange, baseUrl: string, admit: AdmitKey): Promise<Reply> => {
    const { request, response, expectsContinue, operationId } = exchange;
    const { code, api_key: given } = await readBody(signIn as Operation, request, response, expectsContinue);
    const key = await keyBy(code, given);
    admit(key);
    const { cookie, session } = await sessions.open(key, undefined, request, operationId);
    const seconds = Math.floor((session.expiresAtMs - clock.now()) / 1_000);
    return { ...show(session, cookie), headers: ["set-cookie", cookieField(baseUrl, cookie, seconds)] };
  };
  const keyBy = async (code: unknown, given: unknown): Promise<Key> => {
    if (typeof given === "string") return keys.authenticate(`Bearer ${given}`, {});
    const keyId = typeof code === "string" ? await codes.take(code) : undefined;
    const key = keyId === undefined ? undefined : keys.current(keyId);
    if (!key) throw new Refusal("console_code_spent");
    return key;
  };
  const beginTeamLogin = async (login: TeamLogin, baseUrl: string): Promise<Reply> => {
    const { location, cookie } = await login.begin(baseUrl);
    return { status: 303, headers: ["location", location, "set-cookie", cookie] };
  };
  /** The new session has a cookie of its own: one that the browser brought along would be nobody's. */
  const finishTeamLogin = async (
    { login, people }: NonNullable<typeof team>,
    { request, operationId }: Exchange,
    baseUrl: string,
    admit: AdmitKey,
  ): Promise<Reply> => {
    const person = await login.finish(request, new URL(request.url ?? "", baseUrl).searchParams, baseUrl);
    const { key } = people.admit(person);
    admit(key);
    const { cookie, session } = await sessions.open(key, person, request, operationId);
    const seconds = Math.floor((session.expiresAtMs - clock.now()) / 1_000);
    return afterTeamLogin(baseUrl, "/", ["set-cookie", cookieField(baseUrl, cookie, seconds)]);
  };
  const logOut = async (exchange: Exchange, baseUrl: string): Promise<Reply> => {
    const { request, operationId } = exchange;
    const cookie = readCookie(request, baseUrl);
    if (cookie !== undefined) {
      checkToken(request, cookie);
      await sessions.close(sessions.find(cookie), request, operationId);
    }
    return { status: 204, headers: ["set-cookie", cookieField(baseUrl, "", 0)] };
  };

  return {
    codes,
    reply(exchange, path, baseUrl) {
      const { request } = exchange;
      const { method } = request;
      if (path === sessionPath) {
        checkHost(request, apiUrl);
        checkOrigin(request);
        if (method === "POST") return { byKey: true, run: (admit) => logIn(exchange, baseUrl, admit) };
        if (method === "DELETE") return { run: () => logOut(exchange, baseUrl) };
        return { run: async (admit) => who(request, baseUrl, admit) };
      }
      if (team && path === loginPath && method === "GET") {
        checkHost(request, apiUrl);
        return { ...byTeam(baseUrl), run: () => beginTeamLogin(team.login, baseUrl) };
      }
      if (team && path === callbackPath && method === "GET") {
        checkHost(request, apiUrl);
        return { ...byTeam(baseUrl), run: (admit) => finishTeamLogin(team, exchange, baseUrl, admit) };
      }
      if (path === livePath && method === "GET") {
        checkHost(request, apiUrl);
        checkOrigin(request);
        return { run: async (admit) => void listen(exchange, baseUrl, admit) };
      }
      if ((method !== "GET" && method !== "HEAD") || (path !== "/" && !path.startsWith("/assets/"))) return undefined;
      checkHost(request, apiUrl);
      return {
        run: async () => {
          const found = await page(path, request);
          if (!found) throw new Refusal("unknown_path", `there is no path ${JSON.stringify(path.slice(0, 128))}`);
          return found;
        },
      };
    },
    keyOf(request, baseUrl) {
      const cookie = readCookie(request, baseUrl);
      if (cookie === undefined) return undefined;
      checkHost(request, apiUrl);
      checkOrigin(request);
      checkToken(request, cookie);
      return sessions.find(cookie).key;
    },
    awaited(request, baseUrl) {
      const cookie = readCookie(request, baseUrl);
      return cookie === undefined ? undefined : sessions.awaited(cookie);
    },
    stop() {
      live.stop();
      team?.login.stop();
    },
  };
}

/** A refusal is told by its name, so that no page can be made to show anybody else's words. */
function byTeam(baseUrl: string): Pick<FrontReply, "byKey" | "refused"> {
  return { byKey: true, refused: ({ reason }) => afterTeamLogin(baseUrl, `/#refused=${reason}`, []) };
}

/** Its flow is over. */
function afterTeamLogin(baseUrl: string, location: string, more: readonly string[]): Reply {
  const headers = ["set-cookie", flowCookieField(baseUrl, "", 0), "location", location, ...more];
  return { status: 303, headers };
}

/** Reads come without it: no other site can make one that it could read the answer of. */
function checkToken(request: IncomingMessage, cookie: string): void {
  if (request.method === "GET" || request.method === "HEAD") return;
  if (!isPageToken(request.headers[tokenField], cookie)) throw new Refusal("console_origin_refused");
}

/** The files of the page, read when the first is asked for; undefined for what is none of them. */
function makePageReplies(): (path: string, request: IncomingMessage) => Promise<Reply | undefined> {
  let pages: Pages | undefined;
  return async (path, request) => {
    pages ??= (await import("../../pages/pages.ts")).openPages("index.html");
    const found = pages.get(path, request.headers["accept-encoding"]);
    if (!found) return undefined;
    const { "content-type": contentType, "cache-control": cacheControl, ...more } = found.headers;
    const headers = Object.entries(more).filter(([name]) => name !== "x-content-type-options");
    return {
      status: found.status,
      body: found.body,
      contentLength: String(found.body.length),
      ...(contentType !== undefined && { contentType }),
      ...(cacheControl !== undefined && { cacheControl }),
      headers: headers.flat(),
    };
  };
}
