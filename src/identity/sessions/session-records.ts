/** The stored form of sessions, `application_session`, which both planes read and edges receive. */
import type { ResourceObject } from "../../schema/object.ts";
import { unknownIdentity } from "../calls/identity.ts";
import { grantOf } from "./grant.ts";
import type { Grant } from "./grant.ts";
import type { SessionRecord } from "./login-session.ts";

export const sessionKind = "application_session";
export const loginKeyKind = "login_key";
export const metadataKind = "saml_metadata";

/** Fields that both planes read. `login` is `CommonSessionValues` as JSON. */
interface SessionDoc {
  readonly application_user_id: string;
  readonly route_id: string;
  readonly edge_id: string;
  readonly cookie_hash: string;
  readonly login: string;
  readonly login_at: number;
  readonly checked_at: number;
  readonly ends_at: number;
  readonly identity: {
    readonly subject: string;
    readonly email: string;
    readonly email_verified: boolean;
    readonly name: string;
    readonly username: string;
    readonly memberships: readonly string[];
    readonly provider_session: string;
    readonly authenticated_at: number;
    readonly managed_domain: string;
  };
  /** The provider's tokens as JSON, or "". */
  readonly tokens: string;
  /** What a client that is not a browser was granted, as JSON, or "". */
  readonly grant: string;
}

/** Values that many sessions share. */
type CommonSessionValues = Pick<
  SessionRecord,
  | "realm"
  | "cookiePrefix"
  | "host"
  | "siteId"
  | "providerName"
  | "providerUrl"
  | "clientId"
  | "scopes"
  | "maximumDuration"
  | "inactivityTimeout"
>;

/** Storage seals the tokens. */
export function docOf(record: SessionRecord): SessionDoc {
  const { realm, cookiePrefix, host, siteId, providerName, providerUrl, clientId, scopes, identity } = record;
  const { maximumDuration, inactivityTimeout, accessToken, refreshToken, idToken } = record;
  const common: CommonSessionValues = {
    realm,
    cookiePrefix,
    host,
    siteId,
    providerName,
    providerUrl,
    clientId,
    scopes,
    maximumDuration,
    inactivityTimeout,
  };
  const tokens = [accessToken, refreshToken, idToken];
  return {
    application_user_id: record.userId,
    route_id: record.routeId,
    edge_id: siteId.includes(" ") ? "" : siteId,
    cookie_hash: record.cookieHash,
    login: JSON.stringify(common),
    login_at: record.loginAt,
    checked_at: record.checkedAt,
    ends_at: record.endsAt ?? 0,
    identity: {
      subject: identity.subject,
      email: identity.email,
      email_verified: identity.emailVerified,
      name: identity.name,
      username: identity.username,
      memberships: identity.memberships,
      provider_session: identity.providerSession,
      authenticated_at: identity.authenticatedAt,
      managed_domain: identity.managedDomain,
    },
    tokens: tokens.some((one) => one !== "") ? JSON.stringify(tokens) : "",
    grant: record.grant ? JSON.stringify(record.grant) : "",
  };
}

/** The place of a login, parsed from the shared values. */
export interface RecordPlace {
  readonly common: CommonSessionValues;
  readonly accountId: string;
  readonly routeId: string;
}

/** A session's own values, in the packed order of `application_session`. Empty values at the end are omitted. */
export type OwnValues = readonly [
  userId: string,
  cookieHash: string,
  loginAt: number,
  checkedAt: number,
  lastActive: string,
  expiresAt: unknown,
  address: unknown,
  location: unknown,
  subject?: string,
  email?: string,
  emailVerified?: boolean,
  name?: string,
  username?: string,
  memberships?: readonly string[],
  providerSession?: string,
  authenticatedAt?: number,
  managedDomain?: string,
  endsAt?: number,
  tokens?: string,
  grant?: string,
];

/** Most neighbouring sessions were last used within the same second. */
let lastInstant = { text: "", at: 0 };
function instantOf(text: string): number {
  if (lastInstant.text !== text) lastInstant = { text, at: Date.parse(text) };
  return lastInstant.at;
}

/** Returns undefined for a session that no login of this version made. */
export function recordOf({
  id,
  account_id,
  doc: given,
}: Pick<ResourceObject, "id" | "account_id" | "doc">): SessionRecord | undefined {
  const doc = given as unknown as SessionDoc & { readonly last_active: string };
  const place = placeOf(account_id, doc.route_id, doc.login);
  if (!place || !doc.login_at) return undefined;
  const { identity: said } = doc;
  return recordFrom(id, place, [
    doc.application_user_id,
    doc.cookie_hash,
    doc.login_at,
    doc.checked_at,
    doc.last_active,
    undefined,
    undefined,
    undefined,
    said.subject,
    said.email,
    said.email_verified,
    said.name,
    said.username,
    said.memberships,
    said.provider_session,
    said.authenticated_at,
    said.managed_domain,
    doc.ends_at,
    doc.tokens,
    doc.grant,
  ]);
}

/** Returns undefined if the text comes from a login of another version. */
export function placeOf(accountId: string, routeId: string, login: string): RecordPlace | undefined {
  if (!login) return undefined;
  const common = getOrMake(commons, login, () => JSON.parse(login) as CommonSessionValues);
  return { common, accountId: shareText(accountId), routeId: shareText(routeId) };
}

export function recordFrom(
  id: string,
  { common, accountId, routeId }: RecordPlace,
  ownValues: OwnValues,
): SessionRecord {
  const [endsAt = 0, tokens = ""] = [ownValues[17], ownValues[18]];
  const [accessToken = "", refreshToken = "", idToken = ""] = tokens === "" ? none : (JSON.parse(tokens) as string[]);
  return {
    id,
    accountId,
    userId: ownValues[0],
    cookieHash: ownValues[1],
    realm: common.realm,
    cookiePrefix: common.cookiePrefix,
    host: common.host,
    siteId: common.siteId,
    routeId,
    providerName: common.providerName,
    providerUrl: common.providerUrl,
    clientId: common.clientId,
    loginAt: ownValues[2],
    lastActive: instantOf(ownValues[4]) || ownValues[2],
    checkedAt: ownValues[3],
    scopes: common.scopes,
    identity: {
      subject: ownValues[8] ?? "",
      email: ownValues[9] ?? "",
      emailVerified: ownValues[10] ?? false,
      name: ownValues[11] ?? "",
      username: ownValues[12] ?? "",
      memberships: shareList(ownValues[13] ?? none),
      providerSession: ownValues[14] ?? "",
      authenticatedAt: ownValues[15] ?? 0,
      managedDomain: ownValues[16] ?? "",
    },
    accessToken,
    refreshToken,
    idToken,
    maximumDuration: common.maximumDuration,
    inactivityTimeout: common.inactivityTimeout,
    endsAt,
    grant: omitClient(ownValues[19]),
  };
}

/** What many grants have in common. */
type Terms = Pick<Grant, "name" | "scopes" | "audience">;

/** A grant without the client's id, which is long and often individual, and which only the control plane needs. */
class KeptGrant implements Grant {
  readonly issuedAt: number;
  readonly #terms: Terms;

  constructor({ name, scopes, audience, issuedAt }: Grant) {
    this.issuedAt = issuedAt;
    this.#terms = getOrMake(terms, JSON.stringify([name, scopes, audience]), () =>
      Object.freeze({ name, scopes: shareList(scopes), audience: shareText(audience) }),
    );
  }

  get client(): string {
    return "";
  }

  get name(): string {
    return this.#terms.name;
  }

  get scopes(): readonly string[] {
    return this.#terms.scopes;
  }

  get audience(): string {
    return this.#terms.audience;
  }
}

function omitClient(text: string | undefined): Grant | undefined {
  const grant = grantOf(text);
  return grant && new KeptGrant(grant);
}

const none: readonly string[] = unknownIdentity.memberships;
const maxShared = 10_000;
/** Longer lists are usually individual, such as groups. */
const maxSharedList = 8;
const texts = new Map<string, string>();
const lists = new Map<string, readonly string[]>();
const commons = new Map<string, CommonSessionValues>();
const terms = new Map<string, Terms>();

/** Returns the single copy of a value that many sessions share. Without it a session takes a third more memory. */
export function shareText(text: string): string {
  return getOrMake(texts, text, () => text);
}

export function shareList(list: readonly string[]): readonly string[] {
  if (list.length === 0) return none;
  if (list.length > maxSharedList) return list;
  return getOrMake(lists, JSON.stringify(list), () => Object.freeze(list.map(shareText)));
}

function getOrMake<Value>(known: Map<string, Value>, key: string, make: () => Value): Value {
  let value = known.get(key);
  if (value === undefined) {
    if (known.size >= maxShared) known.clear();
    known.set(key, (value = make()));
  }
  return value;
}

/** Latest end of the session, milliseconds since 1970; undefined if its route sets no limit. */
export function expiresAt(
  { loginAt, lastActive, maximumDuration, inactivityTimeout, endsAt = 0 }: SessionRecord,
  idleDays: number,
): number {
  const limits = [lastActive + (inactivityTimeout || idleDays * 86_400) * 1000];
  if (maximumDuration > 0) limits.push(loginAt + maximumDuration * 1000);
  if (endsAt > 0) limits.push(endsAt);
  return Math.min(...limits);
}
