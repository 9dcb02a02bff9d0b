/**
 * Carries the result of a SAML login from the host that received the provider's response to the host where the login
 * started. It is sealed, short-lived and valid once. The response itself arrives by a cross-site POST, for which
 * browsers send no cookie.
 */
import { LoginRefusal } from "../calls/identity.ts";
import type { FlowSealer } from "../browser/flow-sealing.ts";
import type { NameId } from "../saml/response/name-id.ts";
import type { SamlIdentity } from "../saml/response/work.ts";

export interface Ticket {
  /** Id of the flow that it finishes, or a new id for a login that started at the provider. */
  readonly id: string;
  /** Destination of such a login; "" for a flow, which knows its own. */
  readonly url: string;
  readonly name: NameId;
  readonly email: string;
  readonly displayName: string;
  /** As many as fit, starting with those that the route lists. */
  readonly groups: readonly string[];
  readonly sessionIndex: string;
  /** Milliseconds since 1970. */
  readonly signedInAt: number;
  /** Latest end of the session, milliseconds since 1970; 0 if there is none. */
  readonly endsAt: number;
}

/** How long a ticket is valid, milliseconds. */
export const ticketGoodMs = 60_000;
/** Keeps the URL with the ticket below the limits of an edge, bytes. */
const maxBytes = 9_000;

export function sealTicket(
  { id, url }: Pick<Ticket, "id" | "url">,
  { identity, authorized, routeId }: { identity: SamlIdentity; authorized: readonly string[]; routeId: string },
  { sealer, nowMs }: { sealer: FlowSealer; nowMs: number },
): string {
  const { nameId, format, nameQualifier, spNameQualifier, sessionIndex, sessionNotOnOrAfterMs, authnInstantMs } =
    identity;
  const ticket: Ticket = {
    id,
    url,
    name: {
      nameId,
      ...(format !== undefined && { format }),
      ...(nameQualifier !== undefined && { nameQualifier }),
      ...(spNameQualifier !== undefined && { spNameQualifier }),
    },
    email: identity.email,
    displayName: identity.name,
    groups: [],
    sessionIndex,
    signedInAt: authnInstantMs,
    endsAt: sessionNotOnOrAfterMs ?? 0,
  };
  let room = maxBytes - byteLength([nowMs, ticket]);
  if (room < 0)
    throw new LoginRefusal("saml_assertion", "the Assertion has more data about the visitor than a ticket can carry");
  const groups = [...identity.groups].sort((one, other) => rankGroup(one, authorized) - rankGroup(other, authorized));
  const kept: string[] = [];
  for (const group of groups) {
    room -= byteLength(group) + 1;
    if (room < 0) break;
    kept.push(group);
  }
  return sealer.seal(JSON.stringify([nowMs, { ...ticket, groups: kept }]), ticketContext(routeId));
}

/** Returns undefined for a ticket of another route, or one that is too old. */
export function openTicket(text: string, routeId: string, sealer: FlowSealer, nowMs: number): Ticket | undefined {
  const opened = text.length > 2 * maxBytes ? undefined : sealer.open(text, ticketContext(routeId));
  if (opened === undefined) return undefined;
  const [madeAt, ticket] = JSON.parse(opened) as [number, Ticket];
  return Math.abs(nowMs - madeAt) <= ticketGoodMs ? ticket : undefined;
}

function rankGroup(group: string, authorized: readonly string[]): number {
  return authorized.includes(group) ? 0 : 1;
}

function ticketContext(routeId: string): string {
  return `saml ticket ${routeId}`;
}

function byteLength(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
