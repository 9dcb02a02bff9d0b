import { randomBytes } from "node:crypto";

/** Base-36 digits of the time part: microseconds, exact in a number until the year 2255. */
const timeDigits = 11;
/** Base-36 random digits: 82 bits, so that an id cannot be guessed (semantics, "Ids"). */
const randomDigits = 16;
const alphabet = "0123456789abcdefghijklmnopqrstuvwxyz";

let lastMicros = 0;

/**
 * Returns a new identifier: prefix, `_`, 27 lower-case base-36 digits. Ids sort in the order in which this process
 * created them, even within a millisecond and when the clock steps back.
 */
export function newId(prefix: string, nowMs: number): string {
  lastMicros = Math.max(lastMicros + 1, Math.floor(nowMs * 1000));
  return `${prefix}_${lastMicros.toString(36).padStart(timeDigits, "0")}${randomText(randomDigits)}`;
}

/**
 * Returns a reproducible id: the time of the id `of`, and as many of the `digest`'s digits as an id has random ones. It
 * sorts among the ids of its kind by the creation of `of`.
 */
export function deriveId(prefix: string, of: string, digest: Buffer): string {
  const time = of.slice(of.lastIndexOf("_") + 1).slice(0, timeDigits);
  const digits = BigInt(`0x${digest.toString("hex")}`).toString(36);
  return `${prefix}_${time.padStart(timeDigits, "0")}${digits.padStart(randomDigits, "0").slice(-randomDigits)}`;
}

/** Returns the id of the endpoint of an agent's tunnel. */
export function endpointIdOf(tunnelId: string): string {
  return `ep_${tunnelId.slice(tunnelId.lastIndexOf("_") + 1)}`;
}

/** Whether this is the id of an endpoint. The owners of a host are endpoints, edges and routes of edges. */
export function isEndpointId(id: string): boolean {
  return id.startsWith("ep_");
}

/** Ensures that all later ids sort after `id`. Called for ids that are already stored. */
export function continueAfter(id: string): void {
  const micros = Number.parseInt(id.slice(id.lastIndexOf("_") + 1).slice(0, timeDigits), 36);
  if (Number.isSafeInteger(micros) && micros > lastMicros) lastMicros = micros;
}

/** One system call for a few random bytes costs as much as one for many. */
let pool: Buffer = Buffer.alloc(0);
let taken = 0;

/** Returns `length` base-36 digits from the system's random source, without modulo bias. */
export function randomText(length: number): string {
  let text = "";
  while (text.length < length) {
    if (taken === pool.length) {
      pool = randomBytes(1024);
      taken = 0;
    }
    const byte = pool[taken] as number;
    taken += 1;
    if (byte < 252) text += alphabet[byte % 36];
  }
  return text;
}
