/**
 * Sessions from a snapshot that no one has used yet: text in a few buffers, and numbers. A session becomes an object
 * when a request brings its cookie, when it changes, and when it ends. For most sessions that never happens.
 */
import { Digests } from "../../lib/collections/digests.ts";
import { PackedTexts } from "../../lib/collections/packed-texts.ts";
import { emailAt, readGist, hashAt, recordOfText, subjectAt } from "./packed-sessions.ts";
import type { Gist, PackedSession } from "./packed-sessions.ts";
import type { RecordPlace } from "./session-records.ts";
import { secondsUp } from "./login-session.ts";
import type { ClockTimes, SessionRecord } from "./login-session.ts";

/** Time-related values of a session. */
export interface TimedSession {
  readonly id: string;
  readonly record: Pick<SessionRecord, "realm" | "host" | "maximumDuration" | "inactivityTimeout">;
  idle(clock: ClockTimes): number;
  age(clock: ClockTimes): number;
  isBeyond(clock: ClockTimes): boolean;
}

/** A session that became an object, with the clock readings at its arrival. */
export interface Woken {
  readonly record: SessionRecord;
  readonly cameAt: ClockTimes;
}

interface Arrival {
  readonly place: RecordPlace;
  readonly at: ClockTimes;
}

/** Separates the id, which does not contain it, from the values. */
const cut = " ";

export class SleepingSessions {
  /** Id and values of each session. */
  readonly #texts = new PackedTexts();
  readonly #arrivals: (Arrival | undefined)[] = [];
  /** Milliseconds since 1970. */
  readonly #loginAt: number[] = [];
  readonly #lastActive: number[] = [];
  /** Likewise; 0 if there is none. */
  readonly #endsAt: number[] = [];
  readonly #free: number[] = [];
  readonly #ids = new Digests();
  readonly #hashes = new Digests();
  readonly #subjects = new Digests();
  /** In lower case. */
  readonly #emails = new Digests();
  #size = 0;
  #last: Arrival | undefined;

  get size(): number {
    return this.#size;
  }

  /**
   * Adds a session. Returns false for logins of an older version.
   *
   * @param at clock readings at arrival; the session's times are earlier
   */
  add(session: PackedSession, at: ClockTimes): boolean {
    const gist = readGist(session);
    if (gist.loginAt === 0) return false;
    const { place, bytes, start, own, end } = session;
    const number = this.#free.pop() ?? this.#arrivals.length;
    if (this.#last?.place !== place || this.#last.at !== at) this.#last = { place, at };
    this.#texts.putBytes(number, bytes, start, end);
    this.#arrivals[number] = this.#last;
    this.#loginAt[number] = gist.loginAt;
    this.#lastActive[number] = gist.lastActive;
    this.#endsAt[number] = gist.endsAt;
    this.#ids.addBytes(bytes, start, own - 1, number);
    indexSession(this.#hashes, gist, hashAt, number);
    indexSession(this.#subjects, gist, subjectAt, number);
    indexSession(this.#emails, gist, emailAt, number);
    this.#size += 1;
    return true;
  }

  /** Prepares the indexes, so that the first look-up does not have to. */
  settle(): void {
    for (const index of [this.#ids, this.#hashes, this.#subjects, this.#emails]) index.settle();
  }

  /** Whether the session is packed here with the same content. */
  holds({ id, place, bytes, start, end }: PackedSession): boolean {
    return this.#ids.candidates(id).some((number) => {
      const present = this.#arrivals[number]?.place;
      return (
        present?.common === place.common &&
        present.accountId === place.accountId &&
        present.routeId === place.routeId &&
        this.#texts.read(number) === bytes.utf8Slice(start, end)
      );
    });
  }

  takeById(id: string): Woken | undefined {
    return this.#takeFirst(this.#ids, id, (record) => record.id === id);
  }

  takeByHash(hash: string): Woken | undefined {
    return this.#takeFirst(this.#hashes, hash, (record) => record.cookieHash === hash);
  }

  takeBySubject(subject: string): Woken[] {
    return this.#subjects
      .candidates(subject)
      .flatMap((number) => this.#takeIf(number, ({ identity }) => identity.subject === subject) ?? []);
  }

  /** @param email lower case */
  takeByEmail(email: string): Woken[] {
    return this.#emails
      .candidates(email)
      .flatMap((number) => this.#takeIf(number, ({ identity }) => identity.email.toLowerCase() === email) ?? []);
  }

  /** A client's sessions that belong to this session at the provider. All others stay packed. */
  takeOfProviderSession(accountId: string, providerUrl: string, clientId: string, session: string): Woken[] {
    const isOf = ({ place }: Arrival): boolean =>
      place.accountId === accountId && place.common.providerUrl === providerUrl && place.common.clientId === clientId;
    const found: Woken[] = [];
    for (const [number, arrival] of this.#arrivals.entries()) {
      if (!arrival || !isOf(arrival) || !mayName(this.#texts.read(number), session)) continue;
      found.push(...(this.#takeIf(number, ({ identity }) => identity.providerSession === session) ?? []));
    }
    return found;
  }

  /** Returns the account's session that was used least recently. */
  longestIdle(accountId: string): { readonly id: string; readonly lastActive: number } | undefined {
    let found: number | undefined;
    for (const [number, arrival] of this.#arrivals.entries()) {
      if (arrival?.place.accountId !== accountId) continue;
      if (found === undefined || this.#usedAt(number) < this.#usedAt(found)) found = number;
    }
    return found === undefined ? undefined : { id: this.#idOf(found), lastActive: this.#usedAt(found) };
  }

  *ids(): Iterable<string> {
    for (const [number, arrival] of this.#arrivals.entries()) if (arrival) yield this.#idOf(number);
  }

  *timed(): Iterable<TimedSession> {
    for (let number = 0; number < this.#arrivals.length; number += 1) {
      const arrival = this.#arrivals[number];
      if (arrival) yield this.#timedOf(number, arrival);
    }
  }

  #timedOf(number: number, { place, at }: Arrival): TimedSession {
    const loginAt = this.#loginAt[number] as number;
    const lastActive = this.#usedAt(number);
    const endsAt = this.#endsAt[number] as number;
    const mono = at.monotonic();
    const since = (then: number): number => mono - Math.max(0, at.now() - then);
    const age = (clock: ClockTimes): number =>
      Math.max(clock.now() - loginAt, clock.monotonic() - secondsUp(since(loginAt)) * 1000);
    const idOf = (): string => this.#idOf(number);
    return {
      get id() {
        return idOf();
      },
      record: place.common,
      idle: (clock) => Math.max(clock.now() - lastActive, clock.monotonic() - since(lastActive)),
      age,
      isBeyond: (clock) => endsAt > 0 && age(clock) >= endsAt - loginAt,
    };
  }

  #usedAt(number: number): number {
    return this.#lastActive[number] as number;
  }

  #idOf(number: number): string {
    const text = this.#texts.read(number);
    return text.slice(0, text.indexOf(cut));
  }

  #takeFirst(index: Digests, key: string, isIt: (record: SessionRecord) => boolean): Woken | undefined {
    for (const number of index.candidates(key)) {
      const [found] = this.#takeIf(number, isIt) ?? [];
      if (found) return found;
    }
    return undefined;
  }

  /** Removes the session if it matches. */
  #takeIf(number: number, isIt: (record: SessionRecord) => boolean): [Woken] | undefined {
    const arrival = this.#arrivals[number];
    if (!arrival) return undefined;
    const text = this.#texts.read(number);
    const end = text.indexOf(cut);
    const record = recordOfText(text.slice(0, end), arrival.place, text.slice(end + 1));
    if (!isIt(record)) return undefined;
    const { id, cookieHash, identity } = record;
    this.#ids.remove(id, number);
    this.#hashes.remove(cookieHash, number);
    this.#subjects.remove(identity.subject, number);
    this.#emails.remove(identity.email.toLowerCase(), number);
    this.#texts.drop(number);
    this.#arrivals[number] = undefined;
    this.#free.push(number);
    this.#size -= 1;
    return [{ record, cameAt: arrival.at }];
  }
}

/** Whether the values may contain this text. Most do not, and need not be parsed. */
function mayName(text: string, session: string): boolean {
  return !/^[\w.:-]+$/.test(session) || text.includes(`"${session}"`);
}

function indexSession(index: Digests, { bytes, places }: Gist, place: number, number: number): void {
  const [start, end] = [places.start(place), places.end(place)];
  if (start < end) index.addBytes(bytes, start, end, number);
}
