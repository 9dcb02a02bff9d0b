/** The most recent exchanges, bounded in number and bytes. */
import { randomBytes } from "node:crypto";
import type { Clock } from "../lib/clock.ts";
import type { InspectedExchange } from "./inspected-exchange.ts";
import { Recording } from "./recording.ts";
import type { RecordingSource } from "./recording.ts";

const maxExchanges = 500;
const usualHeldBytes = 67_108_864;
/** Approximate size of an exchange without heads and bodies, bytes. */
const ownBytes = 512;
const prefixDigits = 8;

/** Called with each exchange that changes; undefined when all were deleted. */
export type Watcher = (exchange: InspectedExchange | undefined) => void;

export class ExchangeStore {
  readonly #clock: Clock;
  readonly #maxHeldBytes: number;
  /** Indexed by the exchange's number, modulo the capacity. */
  readonly #places: Recording[] = [];
  #bytes = 0;
  /**
   * Distinguishes this agent's ids from those of an earlier process. Random digits per id would cost more than
   * everything else here.
   */
  readonly #prefix = randomBytes(prefixDigits / 2).toString("hex");
  /** Numbers of the oldest and the newest stored exchange. */
  #oldest = 1;
  #last = 0;
  readonly #watchers = new Set<Watcher>();

  /** @param maxHeldBytes bound of heads and bodies together */
  constructor(clock: Clock, maxHeldBytes = usualHeldBytes) {
    this.#clock = clock;
    this.#maxHeldBytes = maxHeldBytes;
  }

  /** Whether someone is watching, so that exchanges are parsed live. */
  get isWatched(): boolean {
    return this.#watchers.size > 0;
  }

  idOf(number: number): string {
    return this.#prefix + number.toString(16).padStart(8, "0");
  }

  /**
   * Allocates a place for an exchange and evicts the oldest.
   *
   * @param source parses the recording; undefined if the exchange is parsed live
   * @param at monotonic time, if the caller already has it
   */
  take(source?: RecordingSource, at = this.#clock.monotonic()): Recording {
    this.#last += 1;
    const place = (this.#places[this.#last % maxExchanges] ??= new Recording());
    if (this.#oldest <= this.#last - maxExchanges) this.#oldest = this.#last - maxExchanges + 1;
    place.begin(this.#last, source, this.#clock.now(), at);
    const before = place.heldBytes;
    place.heldBytes = ownBytes + place.capacity;
    this.#hold(place.heldBytes - before);
    return place;
  }

  /** Whether the exchange is still stored. An evicted exchange accepts no more body bytes. */
  has(exchange: InspectedExchange): boolean {
    return this.#placeOf(exchange)?.exchange === exchange;
  }

  /** Counts additional bytes of `exchange` and evicts the oldest exchanges if necessary. */
  grew(exchange: InspectedExchange, bytes: number): void {
    const place = this.#placeOf(exchange);
    if (place?.exchange === exchange) this.grewAt(place, bytes);
  }

  /** The same for a recording. */
  grewAt(place: Recording, bytes: number): void {
    if (bytes === 0 || place.number === 0) return;
    place.heldBytes += bytes;
    this.#hold(bytes);
  }

  get(id: string): InspectedExchange | undefined {
    if (!id.startsWith(this.#prefix) || !/^[0-9a-f]{8,}$/.test(id.slice(prefixDigits))) return undefined;
    const number = Number.parseInt(id.slice(prefixDigits), 16);
    return number < this.#oldest || number > this.#last ? undefined : this.#read(number);
  }

  /** Returns at most `limit` matching exchanges, newest first. */
  list(limit: number, fits: (exchange: InspectedExchange) => boolean = () => true): InspectedExchange[] {
    const found: InspectedExchange[] = [];
    for (let number = this.#last; number >= this.#oldest && found.length < limit; number -= 1) {
      const exchange = this.#read(number);
      if (exchange && fits(exchange)) found.push(exchange);
    }
    return found;
  }

  /**
   * Returns the newest matching exchange among those whose request head contains the text.
   * @param text ASCII. In recordings, a match in the body is possible too.
   */
  find(text: string, fits: (exchange: InspectedExchange) => boolean): InspectedExchange | undefined {
    for (let number = this.#last; number >= this.#oldest; number -= 1) {
      const place = this.#places[number % maxExchanges];
      // Parsing every recording to find one would take the agent's time from traffic.
      const head = place?.number === number ? (place.exchange?.head ?? place.asked) : undefined;
      const exchange = head?.includes(text, 0, "latin1") ? this.#read(number) : undefined;
      if (exchange && fits(exchange)) return exchange;
    }
    return undefined;
  }

  /** Returns at most `limit` replays of the exchange with this id, newest first. */
  replaysOf(id: string, limit: number): InspectedExchange[] {
    const found: InspectedExchange[] = [];
    for (let number = this.#last; number >= this.#oldest && found.length < limit; number -= 1) {
      // Replays are parsed live, so unparsed recordings are not replays.
      const exchange = this.#places[number % maxExchanges]?.exchange;
      if (exchange?.replayOf === id) found.push(exchange);
    }
    return found;
  }

  clear(): void {
    while (this.#oldest <= this.#last) this.#dropOldest();
    for (const watcher of this.#watchers) watcher(undefined);
  }

  /** Calls the watcher until the returned function is called. */
  watch(watcher: Watcher): () => void {
    // Exchanges that are still open are parsed and reported as well.
    for (let number = this.#oldest; number <= this.#last; number += 1) this.#read(number);
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  /** Reports a change of the exchange to the watchers. */
  changed(exchange: InspectedExchange): void {
    if (this.#watchers.size > 0) for (const watcher of this.#watchers) watcher(exchange);
  }

  #placeOf({ number }: InspectedExchange): Recording | undefined {
    return this.#places[number % maxExchanges];
  }

  /** Returns undefined if parsing others evicted it. */
  #read(number: number): InspectedExchange | undefined {
    const place = this.#places[number % maxExchanges];
    if (place?.number !== number) return undefined;
    if (!place.exchange) place.source?.read(place);
    return place.exchange;
  }

  #hold(bytes: number): void {
    this.#bytes += bytes;
    while (this.#bytes > this.#maxHeldBytes && this.#oldest <= this.#last) this.#dropOldest();
  }

  #dropOldest(): void {
    const place = this.#places[this.#oldest % maxExchanges];
    this.#oldest += 1;
    this.#bytes -= place?.heldBytes ?? 0;
    place?.drop();
  }
}
