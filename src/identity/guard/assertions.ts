/**
 * `postern-assertion`: a signed statement about the logged-in visitor for the service behind the route, renewed once a
 * minute per session.
 */
import type { Clock } from "../../lib/clock.ts";
import type { LoginJobs } from "../jobs/login-jobs.ts";
import type { KeptAssertion, Session } from "../sessions/login-session.ts";

/** A signing key from the control plane. */
export interface AssertionKey {
  readonly id: string;
  readonly keyPem: string;
  /** The public key as a JWK. */
  readonly jwk: Readonly<Record<string, unknown>>;
  /** When it starts to sign, milliseconds since 1970. It is published before. */
  readonly signsFrom: number;
}

export interface RouteClaims {
  readonly issuer: string;
  readonly audience: string;
  readonly groups: readonly string[];
}

/** A route that sends assertions to its service. */
export interface AssertionPlace {
  readonly ownerId: string;
  claimsFor(session: Session): RouteClaims;
}

export interface Assertions {
  use(keys: readonly AssertionKey[]): void;
  /** The assertion to send; undefined while there is no key. */
  of(session: Session, place: AssertionPlace): KeptAssertion | undefined | Promise<KeptAssertion | undefined>;
  /** The key set with which services verify assertions. */
  keySet(): string;
}

const freshMs = 60_000;
const goodMs = 110_000;
const lifetimeSeconds = 120;
/** Maximum number of sessions with a cached assertion. */
const maxKept = 10_000;
/** Maximum size of the claims. With header and signature in base64url, the header field has at most 2 KiB. */
const maxClaimBytes = 1_360;
const maxGroups = 16;
/** Maximum number of routes per session with a cached assertion. */
const maxRoutes = 8;

export function makeAssertions(jobs: LoginJobs, clock: Clock): Assertions {
  let keys: readonly AssertionKey[] = [];
  /** Sessions with cached assertions, least recently signed first. */
  const holders = new Set<Session>();

  const sign = (session: Session, routeId: string, ofRoute: RouteClaims): Promise<string | undefined> => {
    const now = Math.floor(clock.now() / 1000);
    const key = keys.filter(({ signsFrom }) => signsFrom <= clock.now()).sort((a, b) => b.signsFrom - a.signsFrom)[0];
    if (!key) return Promise.resolve(undefined);
    const { id, userId, identity, providerUrl } = session.record;
    const { email, emailVerified, name } = identity;
    const said = {
      iss: ofRoute.issuer,
      aud: ofRoute.audience,
      sub: userId,
      iat: now,
      exp: now + lifetimeSeconds,
      ...(email !== "" && { email: email.slice(0, 320), email_verified: emailVerified }),
      idp: providerUrl.slice(0, 256),
      sid: id,
      route: routeId,
    };
    const shownName = name.slice(0, 128);
    const named =
      name === "" || bytesOf({ ...said, name: shownName }) > maxClaimBytes ? said : { ...said, name: shownName };
    const groups = groupsIn(maxClaimBytes - bytesOf({ ...named, groups: [] }), ofRoute.groups);
    const claims = groups.length > 0 ? { ...named, groups } : named;
    return jobs.sign({ keyId: key.id, keyPem: key.keyPem, claims });
  };
  const hold = (session: Session, routeId: string): KeptAssertion => {
    const one: KeptAssertion = {
      routeId,
      text: "",
      block: undefined,
      blockOf: undefined,
      madeAt: -Infinity,
      making: undefined,
    };
    session.assertions = [...(session.assertions ?? []).slice(1 - maxRoutes), one];
    holders.delete(session);
    holders.add(session);
    for (const oldest of holders) {
      if (holders.size <= maxKept) break;
      oldest.assertions = undefined;
      holders.delete(oldest);
    }
    return one;
  };
  return {
    use(given) {
      keys = given;
    },
    of(session, place) {
      if (keys.length === 0) return undefined;
      const now = clock.monotonic();
      const { ownerId } = place;
      const one = findKept(session, ownerId) ?? hold(session, ownerId);
      const age = now - one.madeAt;
      if (age < freshMs) return one;
      one.making ??= sign(session, ownerId, place.claimsFor(session))
        .then((text) => {
          if (text === undefined) return undefined;
          return Object.assign(one, { text, block: undefined, madeAt: clock.monotonic() });
        })
        .finally(() => {
          one.making = undefined;
        });
      if (age >= goodMs) return one.making;
      one.making.catch(() => {});
      return one;
    },
    keySet: () => JSON.stringify({ keys: keys.map(({ jwk, id }) => ({ ...jwk, kid: id, alg: "ES256", use: "sig" })) }),
  };
}

/** As many groups as fit, from the start of the list. */
function groupsIn(roomBytes: number, groups: readonly string[]): readonly string[] {
  let room = roomBytes;
  const fitting = groups.slice(0, maxGroups).findIndex((one) => (room -= bytesOf(one) + 1) < 0);
  return groups.slice(0, fitting < 0 ? maxGroups : fitting);
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

function findKept({ assertions = [] }: Session, routeId: string): KeptAssertion | undefined {
  for (const kept of assertions) if (kept.routeId === routeId) return kept;
  return undefined;
}
