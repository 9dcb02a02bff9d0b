/** Sessions as they are stored and as edges get them: the form of `application_session` that both planes read. */
import type { ResourceObject } from "../schema/object.ts";
import { nobody } from "./calls/identity.ts";
import type { SessionRecord } from "./session.ts";

export const sessionKind = "application_session";
export const loginKeyKind = "login_key";

type Doc = Readonly<Record<string, unknown>>;

/** Tokens are sealed by storage; everything else of a login that only edges need is one text. */
export function docOf(record: SessionRecord): Doc {
  const {
    accessToken,
    refreshToken,
    idToken,
    cookieHash,
    userId,
    routeId,
    lastActive: _,
    id: _id,
    accountId: _account,
    ...state
  } = record;
  const tokens = [accessToken, refreshToken, idToken];
  return {
    application_user_id: userId,
    route_id: routeId,
    edge_id: state.siteId.includes(" ") ? "" : state.siteId,
    cookie_hash: cookieHash,
    login: JSON.stringify(state),
    tokens: tokens.some((one) => one !== "") ? JSON.stringify(tokens) : "",
  };
}

/** Undefined for a session that no login of this version has made. */
export function recordOf({ id, account_id, doc }: ResourceObject): SessionRecord | undefined {
  const { login, tokens, cookie_hash, application_user_id, route_id, last_active } = doc;
  if (typeof login !== "string" || login === "" || typeof cookie_hash !== "string") return undefined;
  const state = JSON.parse(login) as Omit<SessionRecord, "id">;
  const [accessToken = "", refreshToken = "", idToken = ""] =
    typeof tokens === "string" && tokens !== "" ? (JSON.parse(tokens) as string[]) : [];
  return {
    ...state,
    id,
    accountId: account_id,
    userId: String(application_user_id),
    routeId: String(route_id),
    cookieHash: cookie_hash,
    lastActive: Date.parse(String(last_active)) || state.loginAt,
    identity: { ...nobody, ...state.identity },
    accessToken,
    refreshToken,
    idToken,
  };
}

/** When it ends by itself at the latest, milliseconds since 1970; undefined: never by its route's limits. */
export function expiresAt(
  { loginAt, lastActive, maximumDuration, inactivityTimeout, endsAt = 0 }: SessionRecord,
  idleDays: number,
): number {
  const limits = [lastActive + (inactivityTimeout || idleDays * 86_400) * 1000];
  if (maximumDuration > 0) limits.push(loginAt + maximumDuration * 1000);
  if (endsAt > 0) limits.push(endsAt);
  return Math.min(...limits);
}
