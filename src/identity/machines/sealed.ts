/**
 * An authorization in progress. The server stores nothing before the person has logged in: the login host's cookie has
 * the client's request, and a ticket has the result of the login.
 */
import type { FlowSealer } from "../browser/flow-sealing.ts";

/** The client's request, in a cookie of the login host. */
export interface PendingRequest {
  readonly id: string;
  readonly accountId: string;
  readonly clientKey: string;
  readonly clientTitle: string;
  readonly redirectUri: string;
  readonly state: string | undefined;
  readonly challenge: string;
  readonly resource: string;
  readonly scopes: readonly string[];
  /** The host, and a path of the route. */
  readonly host: string;
  readonly path: string;
  readonly realm: string;
}

/** Sends the browser to the host that has the login. */
export interface AuthorizationLink {
  readonly authorization: string;
  readonly host: string;
  readonly path: string;
  readonly realm: string;
}

/** A finished login that waits for the person's confirmation. */
export interface ConsentTicket {
  readonly authorization: string;
  readonly sessionId: string;
  readonly accountId: string;
  /** Who has logged in, for the consent page. */
  readonly shownAs: string;
}

/** Milliseconds that each step may take. */
export const authorizationMs = 15 * 60_000;
/** Tolerance for another edge's clock that is ahead. */
const aheadMs = 60_000;
/** Browsers store at most 4096 bytes of a cookie. */
export const maxSealed = 3_900;
const [aboutLink, aboutTicket] = ["authorization link", "consent ticket"];

export function requestCookie(id: string): string {
  return `__Host-authorization.${id.slice(0, 6)}`;
}

/** Undefined if the request is too long for a cookie. */
export function sealRequest(request: PendingRequest, nowMs: number, sealer: FlowSealer): string | undefined {
  const text = sealValue(request, nowMs, requestCookie(request.id), sealer);
  return text.length > maxSealed ? undefined : text;
}

export function openRequest(text: string, id: string, nowMs: number, sealer: FlowSealer): PendingRequest | undefined {
  const found = openValue(text, nowMs, requestCookie(id), sealer) as PendingRequest | undefined;
  return found?.id === id ? found : undefined;
}

export function sealLink(link: AuthorizationLink, nowMs: number, sealer: FlowSealer): string {
  return sealValue(link, nowMs, aboutLink, sealer);
}

export function openLink(text: string, nowMs: number, sealer: FlowSealer): AuthorizationLink | undefined {
  return openValue(text, nowMs, aboutLink, sealer) as AuthorizationLink | undefined;
}

export function sealTicket(ticket: ConsentTicket, nowMs: number, sealer: FlowSealer): string {
  return sealValue(ticket, nowMs, aboutTicket, sealer);
}

export function openTicket(text: string, nowMs: number, sealer: FlowSealer): ConsentTicket | undefined {
  return openValue(text, nowMs, aboutTicket, sealer) as ConsentTicket | undefined;
}

/** A request in the address of a page, for the purpose `about`. Undefined if it is too long. */
export function sealForPage(value: object, about: string, nowMs: number, sealer: FlowSealer): string | undefined {
  const text = sealValue(value, nowMs, about, sealer);
  return text.length > maxSealed ? undefined : text;
}

export function openForPage(text: string, about: string, nowMs: number, sealer: FlowSealer): unknown {
  return openValue(text, nowMs, about, sealer);
}

function sealValue(value: object, nowMs: number, about: string, sealer: FlowSealer): string {
  return sealer.seal(JSON.stringify([nowMs, value]), about);
}

function openValue(text: string, nowMs: number, about: string, sealer: FlowSealer): unknown {
  const opened = text.length > maxSealed ? undefined : sealer.open(text, about);
  if (opened === undefined) return undefined;
  const [at, value] = JSON.parse(opened) as [number, unknown];
  return at <= nowMs + aheadMs && nowMs - at <= authorizationMs ? value : undefined;
}
