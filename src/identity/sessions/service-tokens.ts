/** Service tokens: credentials of machines without a person. Every edge finds them by the hash of the token. */
import type { Clock } from "../../lib/clock.ts";
import { hashToken } from "../../lib/tokens.ts";
import { compileReach } from "../../lib/reach.ts";
import type { Reach } from "../../lib/reach.ts";
import type { ResourceObject } from "../../schema/object.ts";
import type { LoginUse } from "./reports.ts";
import { unknownIdentity } from "../calls/identity.ts";
import { makeSeenCookies } from "./seen-cookies.ts";
import { Session } from "./session.ts";
import type { Moment, SessionRecord } from "./session.ts";

export const serviceTokenKind = "service_token";

/** The `idp` of a machine in assertions. */
const machineProvider = "urn:postern:service-token";
/** Hosts of a route with a wildcard are many. */
const maxPlaces = 100;

interface ServiceTokenDoc {
  readonly name: string;
  readonly token_hash: string;
  readonly acl: readonly string[];
  readonly scopes: readonly string[];
  readonly expires_at: string | null;
  readonly previous_token_hash: string;
  readonly previous_expires_at: string | null;
}

export class Machine {
  readonly id: string;
  readonly accountId: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly #acl: readonly string[];
  /** These two are made for the first request, because most tokens are used at few edges. */
  #reaches: readonly Reach[] | undefined;
  /** Per guard and host, what services receive about the machine. */
  #places: WeakMap<object, Map<string, Session>> | undefined;

  constructor({ id, account_id, doc }: ResourceObject) {
    const { name, acl, scopes } = doc as unknown as ServiceTokenDoc;
    this.id = id;
    this.accountId = account_id;
    this.name = name;
    this.scopes = scopes;
    this.#acl = acl;
  }

  reaches(...place: Parameters<Reach>): boolean {
    this.#reaches ??= this.#acl.map(compileReach);
    return this.#reaches.some((one) => one(...place));
  }

  at(guard: object, host: string, make: () => Session): Session {
    this.#places ??= new WeakMap();
    let places = this.#places.get(guard);
    if (places === undefined) this.#places.set(guard, (places = new Map()));
    let session = places.get(host);
    if (session === undefined) {
      if (places.size >= maxPlaces) places.clear();
      places.set(host, (session = make()));
    }
    return session;
  }
}

/** A token in use. It ends when it is deleted or replaced, with the requests that it admitted. */
export class PresentedToken extends Session {
  machine: Machine;

  constructor(machine: Machine, record: SessionRecord, clock: Moment) {
    super(record, clock);
    this.machine = machine;
  }
}

export interface ServiceTokens {
  /** Returns the token with this arbitrary text. */
  find(text: string): PresentedToken | undefined;
  byId(id: string): PresentedToken | undefined;
  /** Notes that a request was admitted with the token. */
  use(token: PresentedToken): void;
  /** Returns the tokens that were used since the last call. */
  takeUses(): readonly LoginUse[];
  load(objects: Iterable<ResourceObject>): void;
  change(id: string, object: ResourceObject | null): void;
  stop(): void;
}

export function isServiceToken(text: string): boolean {
  return text.startsWith("postern_st_");
}

/** @param ended called after tokens have ended */
export function makeServiceTokens(clock: Clock, ended: () => void): ServiceTokens {
  const byHash = new Map<string, PresentedToken>();
  /** The current token first, then the one before the last rotation. */
  const byId = new Map<string, readonly PresentedToken[]>();
  const seen = makeSeenCookies(clock);
  const used = new Set<PresentedToken>();

  const put = (id: string, object: ResourceObject | null): void => {
    const before = byId.get(id) ?? [];
    const after = object ? tokensOf(object, before, clock) : [];
    for (const one of before) {
      if (after.includes(one)) continue;
      byHash.delete(one.record.cookieHash);
      seen.drop(one);
      one.ended = true;
    }
    for (const one of after) byHash.set(one.record.cookieHash, one);
    if (after.length === 0) byId.delete(id);
    else byId.set(id, after);
  };
  return {
    find(text) {
      const known = seen.get(text);
      if (known instanceof PresentedToken) return known;
      const found = byHash.get(hashToken(text).toString("hex"));
      if (found !== undefined) seen.put(text, found);
      return found;
    },
    byId: (id) => byId.get(id)?.[0],
    use: (token) => void used.add(token),
    takeUses() {
      const now = clock.now();
      const taken = Array.from(used, ({ record }): LoginUse => [record.accountId, record.id, now]);
      used.clear();
      return taken;
    },
    load(objects) {
      const gone = new Set(byId.keys());
      for (const object of objects) {
        gone.delete(object.id);
        put(object.id, object);
      }
      for (const id of gone) put(id, null);
      ended();
    },
    change(id, object) {
      put(id, object);
      ended();
    },
    stop: () => seen.stop(),
  };
}

/** A token that stays valid stays the same object, so that its open requests continue. */
function tokensOf(object: ResourceObject, before: readonly PresentedToken[], clock: Moment): readonly PresentedToken[] {
  const doc = object.doc as unknown as ServiceTokenDoc;
  const machine = new Machine(object);
  const expires = instant(doc.expires_at);
  const previous = instant(doc.previous_expires_at);
  const tokens: readonly (readonly [hash: string, endsAt: number])[] = [
    [doc.token_hash, expires],
    [doc.previous_token_hash, expires > 0 ? Math.min(expires, previous) : previous],
  ];
  return tokens
    .filter(([hash]) => hash !== "")
    .map(([hash, endsAt]) => {
      const present = before.find((one) => one.record.cookieHash === hash);
      // Its clocks count from its arrival.
      const record = recordOf(object, hash, present?.record.loginAt ?? clock.now(), endsAt);
      if (present === undefined) return new PresentedToken(machine, record, clock);
      present.machine = machine;
      present.replace(record);
      return present;
    });
}

/** @param endsAt milliseconds since 1970; 0 for never */
function recordOf({ id, account_id, doc }: ResourceObject, hash: string, at: number, endsAt: number): SessionRecord {
  return {
    id,
    accountId: account_id,
    userId: id,
    cookieHash: hash,
    realm: "",
    host: "",
    siteId: "",
    routeId: "",
    providerName: "service token",
    providerUrl: machineProvider,
    clientId: "",
    loginAt: at,
    lastActive: at,
    checkedAt: at,
    scopes: [],
    identity: { ...unknownIdentity, subject: id, name: String(doc["name"]) },
    accessToken: "",
    refreshToken: "",
    idToken: "",
    maximumDuration: 0,
    inactivityTimeout: 0,
    endsAt,
  };
}

function instant(text: string | null): number {
  return text === null ? 0 : Date.parse(text);
}
