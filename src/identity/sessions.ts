/** Every login that holds, on the traffic thread: one look-up per request, by the hash of its cookie. */
import type { Clock } from "../lib/clock.ts";
import type { PackedObjects } from "../schema/packed.ts";
import type { LoginUse } from "./reports.ts";
import { makeSeenCookies } from "./seen-cookies.ts";
import { ownText, recordOfText, sessionsIn } from "./packed-sessions.ts";
import { Session, cookieHash, sessionCookieLength } from "./session.ts";
import type { Moment, SessionRecord } from "./session.ts";
import { SleepingSessions } from "./sleeping.ts";
import type { Timed, Woken } from "./sleeping.ts";

export interface Sessions {
  readonly size: number;
  /** The session of a cookie, whatever that holds. */
  find(cookie: string): Session | undefined;
  byId(id: string): Session | undefined;
  /** Puts a record in; an older one of the same id takes over what it says. Returns the session. */
  put(record: SessionRecord): Session;
  /** Ends it; harmless when it is gone. */
  end(id: string): void;
  /**
   * Replaces everything by what a snapshot has; sessions that were made here since, stay.
   *
   * @param isGone whether one of the snapshot has ended here
   */
  load(
    parts: Iterable<PackedObjects>,
    isNew: (session: Session) => boolean,
    isGone: (accountId: string, id: string) => boolean,
  ): void;
  /** Last use of those that were used since the last call. */
  takeActivity(): LoginUse[];
  of(accountId: string): number;
  /** Of all what time goes by. */
  timed(): Iterable<Timed>;
  /** Of whoever has this id at a provider. */
  ofSubject(subject: string): Session[];
  /** Of whoever has this e-mail address, in whatever case. */
  ofEmail(email: string): Session[];
  ofClient(accountId: string, providerUrl: string, clientId: string): Session[];
  /** The one of the account that was unused for longest. */
  longestIdle(accountId: string): Session | undefined;
  stop(): void;
}

/** @param ended called once for each session that ends */
export function makeSessions(clock: Clock, ended: (session: Session) => void): Sessions {
  const byHash = new Map<string, Session>();
  const byId = new Map<string, Session>();
  const counts = new Map<string, number>();
  const sleeping = new SleepingSessions();
  const seen = makeSeenCookies(clock);

  const remove = (session: Session): void => {
    const { id, cookieHash: key, accountId } = session.record;
    byId.delete(id);
    if (byHash.get(key) === session) byHash.delete(key);
    const left = (counts.get(accountId) ?? 1) - 1;
    if (left === 0) counts.delete(accountId);
    else counts.set(accountId, left);
    session.ended = true;
    seen.drop(session);
    ended(session);
  };
  /** Not counted yet. */
  const enter = (record: SessionRecord, at: Moment): Session => {
    const session = new Session(record, at);
    const before = byHash.get(record.cookieHash);
    if (before !== undefined) seen.drop(before);
    byId.set(record.id, session);
    byHash.set(record.cookieHash, session);
    return session;
  };
  const woken = (one: Woken | undefined): Session | undefined => one && enter(one.record, one.cameAt);
  const allWoken = (many: readonly Woken[]): void => {
    for (const one of many) woken(one);
  };
  const find = (id: string): Session | undefined => byId.get(id) ?? woken(sleeping.takeById(id));
  const count = (accountId: string): void => void counts.set(accountId, (counts.get(accountId) ?? 0) + 1);
  const awake = (isIt: (record: SessionRecord) => boolean): Session[] =>
    [...byId.values()].filter(({ record }) => isIt(record));
  const put = (record: SessionRecord): Session => {
    const present = find(record.id);
    if (present) {
      const { identity, accessToken, refreshToken, idToken, checkedAt } = present.record;
      // What this edge has learned since is newer than what it had told.
      const isOlder = record.checkedAt < checkedAt;
      present.replace(isOlder ? { ...record, identity, accessToken, refreshToken, idToken, checkedAt } : record);
      present.usedElsewhere(record.lastActive, clock);
      return present;
    }
    count(record.accountId);
    return enter(record, clock);
  };
  return {
    get size() {
      return byId.size + sleeping.size;
    },
    find(cookie) {
      if (cookie.length !== sessionCookieLength) return undefined;
      const known = seen.get(cookie);
      if (known !== undefined) return known;
      const hash = cookieHash(cookie);
      const found = byHash.get(hash) ?? woken(sleeping.takeByHash(hash));
      if (found !== undefined) seen.put(cookie, found);
      return found;
    },
    byId: find,
    put,
    end(id) {
      const session = find(id);
      if (session) remove(session);
    },
    load(parts, isNew, isGone) {
      const [now, mono] = [clock.now(), clock.monotonic()];
      const at = { now: () => now, monotonic: () => mono };
      const gone = new Set([...byId.keys(), ...sleeping.ids()]);
      for (const part of parts) {
        for (const one of sessionsIn(part)) {
          const { id, place } = one;
          if (isGone(place.accountId, id)) continue;
          if (!gone.delete(id)) {
            if (sleeping.add(one, at)) count(place.accountId);
          } else if (!sleeping.holds(one)) put(recordOfText(id, place, ownText(one)));
        }
      }
      sleeping.settle();
      for (const id of gone) {
        const session = find(id);
        if (session && !isNew(session)) remove(session);
      }
    },
    takeActivity() {
      const used: LoginUse[] = [];
      for (const session of byId.values()) {
        if (!session.isDirty) continue;
        session.isDirty = false;
        used.push([session.record.accountId, session.record.id, session.lastActive]);
      }
      return used;
    },
    of: (accountId) => counts.get(accountId) ?? 0,
    *timed() {
      yield* byId.values();
      yield* sleeping.timed();
    },
    ofSubject(subject) {
      allWoken(sleeping.takeBySubject(subject));
      return awake(({ identity }) => identity.subject === subject);
    },
    ofEmail(email) {
      const wanted = email.toLowerCase();
      allWoken(sleeping.takeByEmail(wanted));
      return awake(({ identity }) => identity.email.toLowerCase() === wanted);
    },
    ofClient(accountId, providerUrl, clientId) {
      allWoken(sleeping.takeOfClient(accountId, providerUrl, clientId));
      return awake(
        (record) =>
          record.accountId === accountId && record.providerUrl === providerUrl && record.clientId === clientId,
      );
    },
    longestIdle(accountId) {
      let found: Session | undefined;
      for (const session of byId.values()) {
        if (session.record.accountId !== accountId) continue;
        if (!found || session.lastActive < found.lastActive) found = session;
      }
      const asleep = sleeping.longestIdle(accountId);
      if (asleep && (!found || asleep.lastActive < found.lastActive)) return find(asleep.id);
      return found;
    },
    stop: seen.stop,
  };
}
