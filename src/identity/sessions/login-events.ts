/** Login events for subscribers: logins, refusals and ended sessions, without cookies, codes or tokens. */
import { errorCode } from "../../lib/errors.ts";
import type { RefusalName } from "../../lib/errors.ts";
import type { Exchange } from "../../traffic/exchange.ts";
import type { Identity } from "../calls/identity.ts";
import type { Session, SessionRecord } from "./login-session.ts";
import { isEndpointId } from "../../lib/ids.ts";

export type LoginEventType = "login_completed.v0" | "login_refused.v0" | "login_ended.v0";

/** Why a session ended by itself. A deletion through the API is an event of the write. */
export type LoginEnd =
  /** By the visitor. */
  | "logged_out"
  /** Another login in the same browser. */
  | "replaced"
  /** The provider sent a logout. */
  | "provider_logged_out"
  /** A check with the provider revoked the login. */
  | "withdrawn"
  /** Maximum age or inactivity. */
  | "expired"
  /** The account exceeded its maximum, and this session was unused for longest. */
  | "crowded_out"
  /** No route of its edge requires the login any more. Sent by the control plane. */
  | "login_gone";

export interface LoginEvent {
  readonly type: LoginEventType;
  readonly accountId: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Null for events without a request. */
  readonly requestId: string | null;
  /** The edge, or an agent's endpoint. */
  readonly siteId: string | null;
  readonly routeId: string | null;
  readonly host: string;
  /** Null if the login is unknown. */
  readonly provider: { readonly name: string; readonly url: string } | null;
  readonly clientId: string | null;
  readonly user: LoginEventUser | null;
  readonly sessionId: string | null;
  readonly source: string | null;
  readonly userAgent: string | null;
  readonly errorCode: string | null;
  readonly end: LoginEnd | null;
  /** As in the trace of the request. */
  readonly reason: string;
}

export interface LoginEventUser {
  /** Null until the control plane has determined the user. */
  readonly id: string | null;
  readonly providerUserId: string;
  readonly username: string;
  readonly email: string;
  readonly name: string;
}

/** Emits the event if there is a subscriber. Costs almost nothing otherwise. */
export type TellLogin = (type: LoginEventType, accountId: string, make: () => LoginEventDetails) => void;

export type LoginEventDetails = Omit<LoginEvent, "type" | "accountId" | "at">;

/** The parts of a guard that an event contains. */
export interface LoginPlace {
  readonly options: {
    readonly siteId: string;
    readonly ownerId: string;
    readonly method: { readonly title: string; readonly url: string; readonly clientId: string };
  };
}

export interface RefusedLogin {
  readonly exchange: Exchange;
  readonly errorName: RefusalName;
  readonly reason: string;
  /** Absent if the login is unknown. */
  readonly place?: LoginPlace | undefined;
  /** The identity from the provider. */
  readonly identity?: Identity;
  /** Session of a logged-in visitor who was refused. */
  readonly session?: SessionRecord;
}

const maxText = 512;

export function makeRefusedLogin({
  exchange,
  errorName,
  reason,
  place,
  identity,
  session,
}: RefusedLogin): LoginEventDetails {
  const { method, siteId, ownerId } = place?.options ?? {};
  return {
    ...requestDetails(exchange),
    ...placeOf(siteId, ownerId),
    provider: method ? { name: method.title, url: method.url } : null,
    clientId: method?.clientId ?? null,
    user: identity ? userOf(session?.userId ?? null, identity) : null,
    sessionId: session?.id ?? null,
    errorCode: errorCode(errorName),
    end: null,
    reason: reason.slice(0, maxText),
  };
}

/** @param isStored the record has the user id that the control plane assigned */
export function makeCompletedLogin(
  exchange: Exchange,
  record: SessionRecord,
  reason: string,
  isStored: boolean,
): LoginEventDetails {
  return { ...requestDetails(exchange), ...sessionDetails(record, isStored), errorCode: null, end: null, reason };
}

export function makeEndedLogin(
  { record }: Pick<Session, "record">,
  end: LoginEnd,
  exchange: Exchange | undefined,
  isStored: boolean,
): LoginEventDetails {
  const request = exchange
    ? requestDetails(exchange)
    : { requestId: null, host: record.host, source: null, userAgent: null };
  return { ...request, ...sessionDetails(record, isStored), errorCode: null, end, reason: endings[end] };
}

const endings: Readonly<Record<LoginEnd, string>> = {
  logged_out: "the visitor has logged out",
  replaced: "the same browser logged in again",
  provider_logged_out: "the provider reported a logout",
  withdrawn: "the provider revoked the login",
  expired: "it was too old, or unused for too long",
  crowded_out: "the account reached its maximum number of logins, and this one was unused for longest",
  login_gone: "its edge was deleted, or no route of it requires this login",
};

function sessionDetails(record: SessionRecord, isStored: boolean) {
  const { id, siteId, routeId, providerName, providerUrl, clientId, userId, identity } = record;
  return {
    ...placeOf(siteId, routeId),
    provider: { name: providerName, url: providerUrl },
    clientId,
    user: userOf(isStored ? userId : null, identity),
    sessionId: id,
  };
}

/** An agent's endpoint is a site without routes. */
function placeOf(siteId: string | undefined, ownerId: string | undefined) {
  if (siteId === undefined || ownerId === undefined) return { siteId: null, routeId: null };
  return isEndpointId(ownerId) ? { siteId: ownerId, routeId: null } : { siteId, routeId: ownerId };
}

function requestDetails({ id, request, connection }: Exchange) {
  const { host, headers } = request;
  return {
    requestId: id,
    host,
    source: connection.source,
    userAgent: (headers.get("user-agent") ?? "").slice(0, maxText),
  };
}

function userOf(id: string | null, { subject, username, email, name }: Identity): LoginEventUser {
  const short = (text: string): string => text.slice(0, maxText);
  return {
    id,
    providerUserId: short(subject),
    username: short(username),
    email: short(email),
    name: short(name),
  };
}
