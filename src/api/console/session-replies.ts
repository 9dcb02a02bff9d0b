/** Replies about the console's session: who it belongs to, opening it by key or link, and ending it. */
import type { IncomingMessage } from "node:http";
import type { Clock } from "../../lib/clock.ts";
import { formatTimestamp } from "../../lib/clock.ts";
import { Refusal } from "../../lib/errors.ts";
import { apiKey } from "../../resources/api-key.ts";
import { passkey } from "../../resources/passkey.ts";
import { docOf } from "../../schema/doc.ts";
import type { Store } from "../../storage/store.ts";
import type { Key, KeyRing } from "../http/authenticate.ts";
import { readBody } from "../http/body.ts";
import type { ApiExchange } from "../http/api-exchange.ts";
import type { FrontReply } from "../http/front.ts";
import type { Operation, Reply } from "../operation/call.ts";
import type { Codes } from "./codes.ts";
import { cookieField, readCookie, sessionCookieField } from "./cookie.ts";
import type { Passkeys } from "./passkeys.ts";
import { scopesOf } from "./roles.ts";
import { isPageToken, pageToken } from "./console-sessions.ts";
import type { ConsoleSessions } from "./console-sessions.ts";
import type { OpenSession } from "./open-session.ts";
import { loginPath } from "./team-login.ts";
import type { Team } from "./team.ts";

type AdmitKey = Parameters<FrontReply["run"]>[0];

const tokenField = "postern-console-token";

/** Input of a login: `code` or `api_key`; or `account_id` to continue a session in another account. */
const signIn: Pick<Operation, "id" | "takes" | "input"> = { id: "openConsoleSession", takes: "object" };

interface SessionRepliesOptions {
  readonly store: Store;
  readonly keys: KeyRing;
  readonly codes: Codes;
  readonly sessions: ConsoleSessions;
  readonly team: Team | undefined;
  readonly passkeys: Pick<Passkeys, "origin">;
  readonly clock: Clock;
}

export interface SessionReplies {
  /** Returns the page's view of a session that was just opened, with its cookie. */
  opened(opened: { readonly cookie: string; readonly session: OpenSession }, baseUrl: string): Reply;
  /** Returns the request's session and its cookie. Throws `Refusal` (console_session_ended) without a session. */
  sessionOf(request: IncomingMessage, baseUrl: string): readonly [OpenSession, string];
  who(request: IncomingMessage, baseUrl: string, admit: AdmitKey): Reply;
  logIn(exchange: ApiExchange, baseUrl: string, admit: AdmitKey): Promise<Reply>;
  logOut(exchange: ApiExchange, baseUrl: string): Promise<Reply>;
}

export function makeSessionReplies(options: SessionRepliesOptions): SessionReplies {
  const { store, keys, codes, sessions, team, passkeys, clock } = options;
  /** Other ways to log in, for the login page. */
  const waysIn = (): Readonly<Record<string, string>> => {
    if (team) return { login_title: team.login.title, login_url: loginPath };
    const origin = passkeys.origin();
    const [any] = origin === undefined ? [] : store.objects(new Set([passkey.name]));
    return any && origin !== undefined ? { passkey_origin: origin } : {};
  };
  const show = (session: OpenSession, cookie: string): Reply => {
    const { key, object, expiresAtMs, person, who } = session;
    const { accountId, id, operator } = key.principal;
    const stored = store.get(accountId, apiKey.name, id);
    const doc = stored && docOf(stored, apiKey);
    const body = {
      id: object.id,
      account_id: accountId,
      person: who ?? null,
      // Other accounts that the user may open.
      accounts: person && team ? team.people.accounts(person) : [],
      api_key: {
        id,
        description: doc?.description ?? "",
        operator,
        scopes: doc?.scopes ?? (who ? scopesOf[who.role] : []),
      },
      expires_at: formatTimestamp(expiresAtMs),
      page_token: pageToken(cookie),
    };
    return { status: 200, body: JSON.stringify(body) };
  };
  const sessionOf = (request: IncomingMessage, baseUrl: string): readonly [OpenSession, string] => {
    const cookie = readCookie(request, baseUrl);
    if (cookie === undefined || !sessions.holds(cookie)) {
      throw new Refusal("console_session_ended", undefined, waysIn());
    }
    return [sessions.find(cookie), cookie];
  };
  const who = (request: IncomingMessage, baseUrl: string, admit: AdmitKey): Reply => {
    const [session, cookie] = sessionOf(request, baseUrl);
    admit(session.key);
    return show(session, cookie);
  };
  const openBy = (key: Key, { request, operationId }: ApiExchange, admit: AdmitKey) => {
    admit(key);
    return sessions.open(key, undefined, request, operationId);
  };
  /** Opens a session in another account of a user of the identity provider, and ends the previous session. */
  const move = async ({ request, operationId }: ApiExchange, baseUrl: string, accountId: string, admit: AdmitKey) => {
    const [before, cookie] = sessionOf(request, baseUrl);
    checkToken(request, cookie);
    const visit = team?.checks.visitOf(before.object);
    if (!team || !visit) throw new Refusal("console_person_refused");
    const { key, personId } = team.people.admit(visit.person, accountId);
    admit(key);
    const opener = { visit: { ...visit, endsAt: before.expiresAtMs }, personId };
    const found = await sessions.open(key, opener, request, operationId);
    await sessions.close(before, request, operationId);
    return found;
  };
  const logIn = async (exchange: ApiExchange, baseUrl: string, admit: AdmitKey): Promise<Reply> => {
    const { request, response, expectsContinue } = exchange;
    const body = await readBody(signIn as Operation, request, response, expectsContinue);
    const { code, api_key: given, account_id: accountId } = body;
    const isMove = typeof accountId === "string";
    const found = isMove
      ? await move(exchange, baseUrl, accountId, admit)
      : await openBy(await keyBy(code, given), exchange, admit);
    return opened(found, baseUrl);
  };
  const opened: SessionReplies["opened"] = ({ cookie, session }, baseUrl) => {
    const field = sessionCookieField(baseUrl, cookie, session, clock);
    return { ...show(session, cookie), headers: ["set-cookie", field] };
  };
  const keyBy = async (code: unknown, value: unknown): Promise<Key> => {
    if (typeof value === "string") return keys.authenticate(`Bearer ${value}`, {});
    const keyId = typeof code === "string" ? await codes.take(code) : undefined;
    const key = keyId === undefined ? undefined : keys.current(keyId);
    if (!key) throw new Refusal("console_code_spent");
    return key;
  };
  const logOut = async (exchange: ApiExchange, baseUrl: string): Promise<Reply> => {
    const { request, operationId } = exchange;
    const cookie = readCookie(request, baseUrl);
    if (cookie !== undefined) {
      checkToken(request, cookie);
      await sessions.close(sessions.find(cookie), request, operationId);
    }
    return { status: 204, headers: ["set-cookie", cookieField(baseUrl, "", 0)] };
  };
  return { opened, sessionOf, who, logIn, logOut };
}

/** Reads need no token, because other sites cannot read the response. */
export function checkToken(request: IncomingMessage, cookie: string): void {
  if (request.method === "GET" || request.method === "HEAD") return;
  if (!isPageToken(request.headers[tokenField], cookie)) throw new Refusal("console_origin_refused");
}
