/**
 * What a login by SAML takes from the host where the provider's answer came in to the host where it began: sealed, short
 * of life, and good once. The answer itself comes by a POST of another site, with which browsers send no cookie.
 */
import { LoginRefusal } from "../calls/identity.ts";
import type { FlowSealer } from "../browser/sealing.ts";
import type { NameId } from "../saml/response/name-id.ts";
import type { SamlIdentity } from "../saml/response/work.ts";

export interface Ticket {
  /** The flow that it finishes; of a login that was begun at the provider an id of its own. */
  readonly id: string;
  /** Where such a login leads; "" for a flow, which knows it. */
  readonly url: string;
  readonly name: NameId;
  readonly email: string;
  readonly displayName: string;
  /** As many as there is room for, those that the route names first. */
  readonly groups: readonly string[];
  readonly sessionIndex: string;
  /** Milliseconds since 1970. */
  readonly signedInAt: number;
  /** The session may not last longer, milliseconds since 1970; 0: no bound. */
  readonly endsAt: number;
}

/** How long one is good, milliseconds. */
export const ticketGoodMs = 60_000;
/** So that the URL which carries it stays below what an edge takes, bytes. */
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
  const groups = [...identity.groups].sort((one, other) => rank(one, authorized) - rank(other, authorized));
  const kept: string[] = [];
  for (const group of groups) {
    room -= byteLength(group) + 1;
    if (room < 0) break;
    kept.push(group);
  }
  return sealer.seal(JSON.stringify([nowMs, { ...ticket, groups: kept }]), about(routeId));
}

/** Undefined for one that is not of the route, or too old. */
export function openTicket(text: string, routeId: string, sealer: FlowSealer, nowMs: number): Ticket | undefined {
  const opened = text.length > 2 * maxBytes ? undefined : sealer.open(text, about(routeId));
  if (opened === undefined) return undefined;
  const [madeAt, ticket] = JSON.parse(opened) as [number, Ticket];
  return Math.abs(nowMs - madeAt) <= ticketGoodMs ? ticket : undefined;
}

function rank(group: string, authorized: readonly string[]): number {
  return authorized.includes(group) ? 0 : 1;
}

function about(routeId: string): string {
  return `saml ticket ${routeId}`;
}

function byteLength(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
