/** Sessions in the form of a snapshot. There are very many, so they are parsed in place and only as far as needed. */
import { ValuePlaces, findValues } from "../../lib/collections/list-bytes.ts";
import { numberInBytes, timeInBytes } from "../../lib/collections/value-bytes.ts";
import type { PackedObjects } from "../../schema/packed.ts";
import { placeOf, recordFrom } from "./session-records.ts";
import type { OwnValues, RecordPlace } from "./session-records.ts";
import type { SessionRecord } from "./login-session.ts";

export interface PackedSession {
  readonly id: string;
  readonly place: RecordPlace;
  /** Bytes of the snapshot: the id at `start`, a space, and JSON of the session's values from `own` to `end`. */
  readonly bytes: Buffer;
  readonly start: number;
  readonly own: number;
  readonly end: number;
}

const [space, lineEnd, quote, bracketEnd, braceEnd] = [0x20, 0x0a, 0x22, 0x5d, 0x7d];

export function* sessionsIn({ commons: given, objects }: PackedObjects): Iterable<PackedSession> {
  const places = given.map(({ account_id, text }) => {
    const [, , routeId, , login] = JSON.parse(text) as string[];
    return placeOf(account_id, routeId ?? "", login ?? "");
  });
  const bytes = Buffer.from(objects.buffer, objects.byteOffset, objects.byteLength);
  for (let at = 0; at < bytes.length;) {
    const start = bytes.indexOf(space, at) + 1;
    const own = bytes.indexOf(space, start) + 1;
    const end = bytes.indexOf(lineEnd, own);
    if (end < 0) throw new Error("read sessions of a snapshot: a line does not end");
    const place = places[numberInBytes(bytes, at, start - 1)];
    if (place) yield { id: bytes.latin1Slice(start, own - 1), place, bytes, start, own, end };
    at = end + 1;
  }
}

/** JSON of the session's values. */
export function ownText({ bytes, own, end }: PackedSession): string {
  return bytes.utf8Slice(own, end);
}

/** @param own JSON of the session's values */
export function recordOfText(id: string, place: RecordPlace, text: string): SessionRecord {
  return recordFrom(id, place, JSON.parse(text) as OwnValues);
}

/** The values that sessions are looked up by, and their times. */
export interface Gist {
  /** Milliseconds since 1970; 0 if no login of this version made the session. */
  readonly loginAt: number;
  readonly lastActive: number;
  /** Likewise; 0 if there is none. */
  readonly endsAt: number;
  /** Bytes that `places` refer to: the hash of the cookie at `hashAt`, the subject, and the lower-case address. */
  readonly bytes: Buffer;
  readonly places: ValuePlaces;
}

export const [hashAt, subjectAt, emailAt] = [1, 8, 9];
const [loginAtAt, lastActiveAt] = [2, 4];
const textsAt = [hashAt, lastActiveAt, subjectAt, emailAt];
const places = new ValuePlaces(emailAt + 1);

/**
 * Parses as far as needed, a tenth of the work of a full parse. The returned places are overwritten by the next call.
 */
export function readGist(session: PackedSession): Gist {
  const { bytes, own, end } = session;
  const found = hasLateValues(bytes, end) ? 0 : findValues(bytes, own, end, places);
  if (found <= lastActiveAt) return readWholeGist(session);
  for (let at = found; at <= emailAt; at += 1) places.put(at, 0, 0);
  const [email, emailEnd] = [places.start(emailAt), places.end(emailAt)];
  const loginAt = numberInBytes(bytes, places.start(loginAtAt), places.end(loginAtAt));
  const lastActive = timeInBytes(bytes, places.start(lastActiveAt), places.end(lastActiveAt));
  const isPlain = textsAt.every((at) => at >= found || places.isText(bytes, at)) && isLowerCase(bytes, email, emailEnd);
  if (!isPlain || Number.isNaN(loginAt + lastActive)) return readWholeGist(session);
  return { loginAt, lastActive, endsAt: 0, bytes, places };
}

function readWholeGist(session: PackedSession): Gist {
  const values = JSON.parse(ownText(session)) as OwnValues;
  const [, cookieHash, loginAt, , lastActive, , , , subject = "", email = ""] = values;
  const texts = [cookieHash, subject, email.toLowerCase()];
  const bytes = Buffer.from(texts.join(""));
  let start = 0;
  for (const [at, place] of [hashAt, subjectAt, emailAt].entries()) {
    const end = start + Buffer.byteLength(texts[at] as string);
    places.put(place, start, end);
    start = end;
  }
  return { loginAt, lastActive: Date.parse(lastActive) || loginAt, endsAt: values[17] ?? 0, bytes, places };
}

/** Whether the list may extend to the provider's bound: it ends with a number, with tokens (a list), or with a grant. */
function hasLateValues(bytes: Buffer, end: number): boolean {
  const [last, before] = [bytes[end - 2] as number, bytes[end - 3]];
  return (last >= 0x30 && last <= 0x39) || (last === quote && (before === bracketEnd || before === braceEnd));
}

/** Only for characters whose case can be determined here. */
function isLowerCase(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at] as number;
    if (byte > 0x7f || (byte >= 0x41 && byte <= 0x5a)) return false;
  }
  return true;
}
