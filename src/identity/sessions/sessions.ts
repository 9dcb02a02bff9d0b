/** All valid logins, on the traffic thread. A request costs one look-up by the hash of its cookie. */
import type { Clock } from "../../lib/clock.ts";
import { AwakeSessions } from "./awake-sessions.ts";
import type { PackedObjects } from "../../schema/packed.ts";
import type { LoginUse } from "./login-reports.ts";
import { ownText, recordOfText, sessionsIn } from "./packed-sessions.ts";
import { accessTokenLength, cookieHash, sessionCookieLength } from "./login-session.ts";
import type { Session, SessionRecord } from "./login-session.ts";
import { SleepingSessions } from "./sleeping.ts";
import type { TimedSession, Woken } from "./sleeping.ts";

export interface Sessions {
  readonly size: number;
  /** Returns the session of a cookie or an access token with arbitrary content. */
  find(cookie: string): Session | undefined;
  byId(id: string): Session | undefined;
  /** Adds a record, or updates the session with the same id. Returns the session. */
  put(record: SessionRecord): Session;
  /** Ends the session, if it exists. */
  end(id: string): void;
  /**
   * Replaces all sessions by those of a snapshot, except sessions made here since.
   *
   * @param isGone whether a session of the snapshot has ended here
   */
  load(
    parts: Iterable<PackedObjects>,
    isNew: (session: Session) => boolean,
    isGone: (accountId: string, id: string) => boolean,
  ): void;
  /** Returns and clears the last use of each session used since the last call. */
  takeActivity(): LoginUse[];
  of(accountId: string): number;
  /** Time-related values of all sessions. */
  timed(): Iterable<TimedSession>;
  /** Sessions of the user with this id at a provider. */
  ofSubject(subject: string): Session[];
  /** Sessions of the user with this e-mail address, ignoring case. */
  ofEmail(email: string): Session[];
  /** A client's sessions that belong to a session at its provider. */
  ofProviderSession(accountId: string, providerUrl: string, clientId: string, session: string): Session[];
  /** Returns the account's session that was unused for longest. */
  longestIdle(accountId: string): Session | undefined;
  stop(): void;
}

/** @param ended called once for each session that ends */
export function makeSessions(clock: Clock, ended: (session: Session) => void): Sessions {
  const counts = new Map<string, number>();
  const awake = new AwakeSessions(clock);
  const sleeping = new SleepingSessions();

  const remove = (session: Session): void => {
    const { accountId } = session.record;
    const left = (counts.get(accountId) ?? 1) - 1;
    if (left === 0) counts.delete(accountId);
    else counts.set(accountId, left);
    awake.remove(session);
    ended(session);
  };
  const woken = (one: Woken | undefined): Session | undefined => one && awake.enter(one.record, one.cameAt);
  const allWoken = (many: readonly Woken[]): void => {
    for (const one of many) woken(one);
  };
  const find = (id: string): Session | undefined => awake.byId(id) ?? woken(sleeping.takeById(id));
  const count = (accountId: string): void => void counts.set(accountId, (counts.get(accountId) ?? 0) + 1);
  const put = (record: SessionRecord): Session => {
    const present = find(record.id);
    if (present) {
      const { identity, accessToken, refreshToken, idToken, checkedAt } = present.record;
      // This edge knows more recent facts than the ones it had reported.
      const isOlder = record.checkedAt < checkedAt;
      awake.rekey(present, record.cookieHash);
      present.replace(isOlder ? { ...record, identity, accessToken, refreshToken, idToken, checkedAt } : record);
      present.heardOf(record, clock);
      return present;
    }
    count(record.accountId);
    return awake.enter(record, clock);
  };
  return {
    get size() {
      return awake.size + sleeping.size;
    },
    find(cookie) {
      if (cookie.length !== sessionCookieLength && cookie.length !== accessTokenLength) return undefined;
      const known = awake.seen(cookie);
      if (known !== undefined) return known;
      const hash = cookieHash(cookie);
      const found = awake.byHash(hash) ?? woken(sleeping.takeByHash(hash));
      if (found !== undefined) awake.see(cookie, found);
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
      const gone = new Set([...awake.ids(), ...sleeping.ids()]);
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
    takeActivity: () => awake.takeActivity(),
    of: (accountId) => counts.get(accountId) ?? 0,
    *timed() {
      yield* awake.all();
      yield* sleeping.timed();
    },
    ofSubject(subject) {
      allWoken(sleeping.takeBySubject(subject));
      return awake.where(({ identity }) => identity.subject === subject);
    },
    ofEmail(email) {
      const wanted = email.toLowerCase();
      allWoken(sleeping.takeByEmail(wanted));
      return awake.where(({ identity }) => identity.email.toLowerCase() === wanted);
    },
    ofProviderSession(...asked) {
      allWoken(sleeping.takeOfProviderSession(...asked));
      return awake.where((record) => isOfProviderSession(record, ...asked));
    },
    longestIdle(accountId) {
      const found = awake.longestIdle(accountId);
      const asleep = sleeping.longestIdle(accountId);
      return asleep && (!found || asleep.lastActive < found.lastActive) ? find(asleep.id) : found;
    },
    stop: () => awake.stop(),
  };
}

function isOfProviderSession(
  record: SessionRecord,
  ...[accountId, providerUrl, clientId, session]: Parameters<Sessions["ofProviderSession"]>
): boolean {
  const isOfClient =
    record.accountId === accountId && record.providerUrl === providerUrl && record.clientId === clientId;
  return isOfClient && record.identity.providerSession === session;
}
