/** Sessions as they are stored and as edges get them: the form of `application_session` that both planes read. */
import type { ResourceObject } from "../schema/object.ts";
import { nobody } from "./calls/identity.ts";
import type { Identity } from "./calls/identity.ts";
import type { SessionRecord } from "./session.ts";

export const sessionKind = "application_session";
export const loginKeyKind = "login_key";
export const metadataKind = "saml_metadata";

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
    login: JSON.stringify({ ...state, identity: said(state.identity) }),
    tokens: tokens.some((one) => one !== "") ? JSON.stringify(tokens) : "",
  };
}

/** What a provider has said; most say little, and there are many sessions. */
function said(identity: Identity): Partial<Identity> {
  const defaults: Readonly<Record<string, unknown>> = { ...nobody };
  const isSaid = ([name, value]: [string, unknown]): boolean =>
    Array.isArray(value) ? value.length > 0 : value !== defaults[name];
  return Object.fromEntries(Object.entries(identity).filter(isSaid));
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
    accountId: shared(account_id),
    userId: String(application_user_id),
    routeId: shared(String(route_id)),
    realm: shared(state.realm),
    host: shared(state.host),
    siteId: shared(state.siteId),
    providerName: shared(state.providerName),
    providerUrl: shared(state.providerUrl),
    clientId: shared(state.clientId),
    scopes: sharedList(state.scopes),
    cookieHash: cookie_hash,
    lastActive: Date.parse(String(last_active)) || state.loginAt,
    identity: { ...nobody, ...state.identity, memberships: sharedList(state.identity.memberships ?? []) },
    accessToken,
    refreshToken,
    idToken,
  };
}

const maxShared = 10_000;
/** Longer ones are somebody's own: groups, mostly. */
const maxSharedList = 8;
const texts = new Map<string, string>();
const lists = new Map<string, readonly string[]>();

/** The one copy of what many sessions have in common: without it a session takes a third more memory. */
function shared(text: string): string {
  return oneOf(texts, text, () => text);
}

function sharedList(list: readonly string[]): readonly string[] {
  if (list.length > maxSharedList) return list;
  return oneOf(lists, JSON.stringify(list), () => Object.freeze(list.map(shared)));
}

function oneOf<Value>(known: Map<string, Value>, key: string, make: () => Value): Value {
  let value = known.get(key);
  if (value === undefined) {
    if (known.size >= maxShared) known.clear();
    known.set(key, (value = make()));
  }
  return value;
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
