/** Every login that holds, on the traffic thread: one look-up per request, by the hash of its cookie. */
import type { Clock } from "../lib/clock.ts";
import type { LoginUse } from "./reports.ts";
import { makeSeenCookies } from "./seen-cookies.ts";
import { Session, cookieHash, sessionCookieLength } from "./session.ts";
import type { SessionRecord } from "./session.ts";

export interface Sessions {
  readonly size: number;
  /** The session of a cookie, whatever that holds. */
  find(cookie: string): Session | undefined;
  byId(id: string): Session | undefined;
  /** Puts a record in; an older one of the same id takes over what it says. Returns the session. */
  put(record: SessionRecord): Session;
  /** Ends it; harmless when it is gone. */
  end(id: string): void;
  /** Replaces everything by what a snapshot has; sessions that were made here since, stay. */
  load(records: Iterable<SessionRecord>, isNew: (session: Session) => boolean): void;
  /** Last use of those that were used since the last call. */
  takeActivity(): LoginUse[];
  of(accountId: string): number;
  all(): Iterable<Session>;
  /** The one of the account that was unused for longest. */
  longestIdle(accountId: string): Session | undefined;
  stop(): void;
}

/** @param ended called once for each session that ends */
export function makeSessions(clock: Clock, ended: (session: Session) => void): Sessions {
  const byHash = new Map<string, Session>();
  const byId = new Map<string, Session>();
  const counts = new Map<string, number>();
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
  const put = (record: SessionRecord): Session => {
    const present = byId.get(record.id);
    if (present) {
      const { identity, accessToken, refreshToken, idToken, checkedAt } = present.record;
      // What this edge has learned since is newer than what it had told.
      const isOlder = record.checkedAt < checkedAt;
      present.replace(isOlder ? { ...record, identity, accessToken, refreshToken, idToken, checkedAt } : record);
      present.usedElsewhere(record.lastActive, clock);
      return present;
    }
    const session = new Session(record, clock);
    const before = byHash.get(record.cookieHash);
    if (before !== undefined) seen.drop(before);
    byId.set(record.id, session);
    byHash.set(record.cookieHash, session);
    counts.set(record.accountId, (counts.get(record.accountId) ?? 0) + 1);
    return session;
  };
  return {
    get size() {
      return byId.size;
    },
    find(cookie) {
      if (cookie.length !== sessionCookieLength) return undefined;
      const known = seen.get(cookie);
      if (known !== undefined) return known;
      const found = byHash.get(cookieHash(cookie));
      if (found !== undefined) seen.put(cookie, found);
      return found;
    },
    byId: (id) => byId.get(id),
    put,
    end(id) {
      const session = byId.get(id);
      if (session) remove(session);
    },
    load(records, isNew) {
      const gone = new Set(byId.values());
      for (const record of records) gone.delete(put(record));
      for (const session of gone) if (!isNew(session)) remove(session);
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
    all: () => byId.values(),
    longestIdle(accountId) {
      let found: Session | undefined;
      for (const session of byId.values()) {
        if (session.record.accountId !== accountId) continue;
        if (!found || session.lastActive < found.lastActive) found = session;
      }
      return found;
    },
    stop: seen.stop,
  };
}
