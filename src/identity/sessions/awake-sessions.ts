/** Sessions as objects: those used since the start. The others stay packed (`sleeping.ts`). */
import type { Clock } from "../../lib/clock.ts";
import type { LoginUse } from "./login-reports.ts";
import { makeSeenCookies } from "./seen-cookies.ts";
import { Session } from "./login-session.ts";
import type { ClockTimes, SessionRecord } from "./login-session.ts";

export class AwakeSessions {
  readonly #byHash = new Map<string, Session>();
  readonly #byId = new Map<string, Session>();
  readonly #seen;

  constructor(clock: Clock) {
    this.#seen = makeSeenCookies(clock);
  }

  get size(): number {
    return this.#byId.size;
  }

  ids(): Iterable<string> {
    return this.#byId.keys();
  }

  all(): Iterable<Session> {
    return this.#byId.values();
  }

  byId(id: string): Session | undefined {
    return this.#byId.get(id);
  }

  byHash(hash: string): Session | undefined {
    return this.#byHash.get(hash);
  }

  /** Returns the session of a recently seen cookie without hashing it. */
  seen(cookie: string): Session | undefined {
    return this.#seen.get(cookie);
  }

  see(cookie: string, session: Session): void {
    this.#seen.put(cookie, session);
  }

  enter(record: SessionRecord, at: ClockTimes): Session {
    const session = new Session(record, at);
    const before = this.#byHash.get(record.cookieHash);
    if (before !== undefined) this.#seen.drop(before);
    this.#byId.set(record.id, session);
    this.#byHash.set(record.cookieHash, session);
    return session;
  }

  remove(session: Session): void {
    const { id, cookieHash } = session.record;
    this.#byId.delete(id);
    if (this.#byHash.get(cookieHash) === session) this.#byHash.delete(cookieHash);
    session.ended = true;
    this.#seen.drop(session);
  }

  /** Prepares a session for a record with another access token. The former token is then unknown. */
  rekey(session: Session, hash: string): void {
    const { cookieHash } = session.record;
    if (cookieHash === hash) return;
    if (this.#byHash.get(cookieHash) === session) this.#byHash.delete(cookieHash);
    this.#byHash.set(hash, session);
    this.#seen.drop(session);
  }

  where(isIt: (record: SessionRecord) => boolean): Session[] {
    return [...this.#byId.values()].filter(({ record }) => isIt(record));
  }

  /** Returns and clears the last use of each session used since the last call. */
  takeActivity(): LoginUse[] {
    const used: LoginUse[] = [];
    for (const session of this.#byId.values()) {
      if (!session.isDirty) continue;
      session.isDirty = false;
      used.push([session.record.accountId, session.record.id, session.lastActive]);
    }
    return used;
  }

  /** Returns the account's session that was unused for longest. */
  longestIdle(accountId: string): Session | undefined {
    let found: Session | undefined;
    for (const session of this.#byId.values()) {
      if (session.record.accountId !== accountId) continue;
      if (!found || session.lastActive < found.lastActive) found = session;
    }
    return found;
  }

  stop(): void {
    this.#seen.stop();
  }
}
