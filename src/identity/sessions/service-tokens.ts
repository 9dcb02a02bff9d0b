/** Service tokens: credentials of machines without a person. Every edge finds them by the hash of the token. */
import type { Clock } from "../../lib/clock.ts";
import { hashToken } from "../../lib/tokens.ts";
import { compileReach } from "../../lib/reach.ts";
import type { Reach } from "../../lib/reach.ts";
import type { ResourceObject } from "../../schema/object.ts";
import type { LoginUse } from "./login-reports.ts";
import { unknownIdentity } from "../calls/identity.ts";
import { shareText, shareList } from "./session-records.ts";
import { makeSeenCookies } from "./seen-cookies.ts";
import { Session } from "./login-session.ts";
import type { ClockTimes, SessionRecord } from "./login-session.ts";

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
    this.accountId = shareText(account_id);
    this.name = name;
    this.scopes = shareList(scopes);
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

/** A token that was used here. It ends when it is deleted or replaced, with the requests that it admitted. */
export class PresentedToken extends Session {
  machine: Machine;

  constructor(machine: Machine, record: SessionRecord, clock: ClockTimes) {
    super(record, clock);
    this.machine = machine;
  }
}

/** A token before its first request at this edge, because most tokens are used at few edges. */
class HeldToken {
  /** SHA-256 of the token, one character for each byte. */
  readonly hash: string;
  machine: Machine;
  /** Milliseconds since 1970; 0 for never. */
  endsAt: number;
  readonly #arrival: Arrival;
  #presented: PresentedToken | undefined;

  constructor(hash: string, machine: Machine, endsAt: number, arrival: Arrival) {
    this.hash = hash;
    this.machine = machine;
    this.endsAt = endsAt;
    this.#arrival = arrival;
  }

  present(): PresentedToken {
    return (this.#presented ??= new PresentedToken(this.machine, this.#record(), this.#arrival));
  }

  /** Applies a change of the machine. Open requests of the token continue. */
  change(machine: Machine, endsAt: number): void {
    this.machine = machine;
    this.endsAt = endsAt;
    if (!this.#presented) return;
    this.#presented.machine = machine;
    this.#presented.replace(this.#record());
  }

  /** Returns the token if it was used. */
  end(): PresentedToken | undefined {
    if (this.#presented) this.#presented.ended = true;
    return this.#presented;
  }

  #record(): SessionRecord {
    return recordOf(this.machine, this.hash, this.#arrival.now(), this.endsAt);
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
  const byHash = new Map<string, HeldToken>();
  /** The current token first, then the one before the last rotation. */
  const byId = new Map<string, readonly HeldToken[]>();
  const arrivals = makeArrivals(clock);
  const seen = makeSeenCookies(clock);
  const used = new Set<PresentedToken>();

  const put = (id: string, object: ResourceObject | null): void => {
    const before = byId.get(id) ?? [];
    const after = object ? tokensOf(object, before, arrivals) : [];
    for (const one of before) {
      if (after.includes(one)) continue;
      byHash.delete(one.hash);
      const ended = one.end();
      if (ended) seen.drop(ended);
    }
    for (const one of after) byHash.set(one.hash, one);
    if (after.length === 0) byId.delete(id);
    else byId.set(id, after);
  };
  return {
    find(text) {
      const known = seen.get(text);
      if (known instanceof PresentedToken) return known;
      const found = byHash.get(hashToken(text).toString("latin1"))?.present();
      if (found !== undefined) seen.put(text, found);
      return found;
    },
    byId: (id) => byId.get(id)?.[0]?.present(),
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

/** A token that stays valid stays the same object. Its clocks count from its arrival. */
function tokensOf(object: ResourceObject, before: readonly HeldToken[], arrivals: () => Arrival): readonly HeldToken[] {
  const doc = object.doc as unknown as ServiceTokenDoc;
  const machine = new Machine(object);
  const expires = parseInstant(doc.expires_at);
  const previous = parseInstant(doc.previous_expires_at);
  const tokens: readonly (readonly [hash: string, endsAt: number])[] = [
    [doc.token_hash, expires],
    [doc.previous_token_hash, expires > 0 ? Math.min(expires, previous) : previous],
  ];
  return tokens
    .filter(([hex]) => hex !== "")
    .map(([hex, endsAt]) => {
      const hash = Buffer.from(hex, "hex").toString("latin1");
      const present = before.find((one) => one.hash === hash);
      if (present === undefined) return new HeldToken(hash, machine, endsAt, arrivals());
      present.change(machine, endsAt);
      return present;
    });
}

type Arrival = ClockTimes;

/** Tokens that arrive within a second share their arrival. */
function makeArrivals(clock: ClockTimes): () => Arrival {
  let last: Arrival | undefined;
  return () => {
    const mono = clock.monotonic();
    if (last && mono - last.monotonic() < 1000) return last;
    const now = clock.now();
    last = { now: () => now, monotonic: () => mono };
    return last;
  };
}

/** @param endsAt milliseconds since 1970; 0 for never */
function recordOf({ id, accountId, name }: Machine, hash: string, at: number, endsAt: number): SessionRecord {
  return {
    id,
    accountId,
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
    scopes: shareList([]),
    identity: { ...unknownIdentity, subject: id, name },
    accessToken: "",
    refreshToken: "",
    idToken: "",
    maximumDuration: 0,
    inactivityTimeout: 0,
    endsAt,
  };
}

function parseInstant(text: string | null): number {
  return text === null ? 0 : Date.parse(text);
}
