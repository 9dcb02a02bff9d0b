/** The last exchanges, within a bound of their number and one of their bytes. */
import { randomBytes } from "node:crypto";
import type { Clock } from "../lib/clock.ts";
import type { Exchange } from "./exchange.ts";
import { Recording } from "./recording.ts";
import type { RecordingSource } from "./recording.ts";

const maxExchanges = 500;
const usualHeldBytes = 67_108_864;
/** What an exchange takes besides heads and bodies, about, bytes. */
const ownBytes = 512;
const prefixDigits = 8;

/** Told of each exchange that has changed; undefined: all are forgotten. */
export type Watcher = (exchange: Exchange | undefined) => void;

export class ExchangeStore {
  readonly #clock: Clock;
  readonly #maxHeldBytes: number;
  /** By the exchange's number, counted round. */
  readonly #places: Recording[] = [];
  #bytes = 0;
  /** What tells ids of this agent from those of the one before; chance for each would cost more than all the rest. */
  readonly #prefix = randomBytes(prefixDigits / 2).toString("hex");
  /** Numbers of the first that is here, and of the last. */
  #oldest = 1;
  #last = 0;
  readonly #watchers = new Set<Watcher>();

  /** @param maxHeldBytes of heads and bodies together */
  constructor(clock: Clock, maxHeldBytes = usualHeldBytes) {
    this.#clock = clock;
    this.#maxHeldBytes = maxHeldBytes;
  }

  /** Somebody is told of each exchange, so it is read as it passes. */
  get isWatched(): boolean {
    return this.#watchers.size > 0;
  }

  idOf(number: number): string {
    return this.#prefix + number.toString(16).padStart(8, "0");
  }

  /**
   * A place for one more exchange; the oldest goes for it.
   *
   * @param source who reads it, unless that is done at once
   * @param at monotonic, where it is known already
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

  /** Whether it is still here: one that is not takes no more bodies. */
  has(exchange: Exchange): boolean {
    return this.#placeOf(exchange)?.exchange === exchange;
  }

  /** `exchange` holds more bytes than before; the oldest ones go for it. */
  grew(exchange: Exchange, bytes: number): void {
    const place = this.#placeOf(exchange);
    if (place?.exchange === exchange) this.grewAt(place, bytes);
  }

  /** As `grew`, for one that is recorded. */
  grewAt(place: Recording, bytes: number): void {
    if (bytes === 0 || place.number === 0) return;
    place.heldBytes += bytes;
    this.#hold(bytes);
  }

  get(id: string): Exchange | undefined {
    if (!id.startsWith(this.#prefix) || !/^[0-9a-f]{8,}$/.test(id.slice(prefixDigits))) return undefined;
    const number = Number.parseInt(id.slice(prefixDigits), 16);
    return number < this.#oldest || number > this.#last ? undefined : this.#read(number);
  }

  /** Newest first, at most `limit`, of those that fit. */
  list(limit: number, fits: (exchange: Exchange) => boolean = () => true): Exchange[] {
    const found: Exchange[] = [];
    for (let number = this.#last; number >= this.#oldest && found.length < limit; number -= 1) {
      const exchange = this.#read(number);
      if (exchange && fits(exchange)) found.push(exchange);
    }
    return found;
  }

  /**
   * The newest that fits, of those in whose request's head the text is.
   * @param text of ASCII; bodies of recordings may have it, too
   */
  find(text: string, fits: (exchange: Exchange) => boolean): Exchange | undefined {
    for (let number = this.#last; number >= this.#oldest; number -= 1) {
      const place = this.#places[number % maxExchanges];
      // Reading all that was recorded, to look for one, would take the agent's time from traffic.
      const head = place?.number === number ? (place.exchange?.head ?? place.asked) : undefined;
      const exchange = head?.includes(text, 0, "latin1") ? this.#read(number) : undefined;
      if (exchange && fits(exchange)) return exchange;
    }
    return undefined;
  }

  /** Those that repeat the exchange with this id, newest first, at most `limit`. */
  replaysOf(id: string, limit: number): Exchange[] {
    const found: Exchange[] = [];
    for (let number = this.#last; number >= this.#oldest && found.length < limit; number -= 1) {
      // Replays are read as they pass.
      const exchange = this.#places[number % maxExchanges]?.exchange;
      if (exchange?.replayOf === id) found.push(exchange);
    }
    return found;
  }

  clear(): void {
    while (this.#oldest <= this.#last) this.#dropOldest();
    for (const watcher of this.#watchers) watcher(undefined);
  }

  /** Until the function that is returned is called. */
  watch(watcher: Watcher): () => void {
    // What is under way is told of, too, once it is read.
    for (let number = this.#oldest; number <= this.#last; number += 1) this.#read(number);
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  /** Something of it is otherwise than it was. */
  changed(exchange: Exchange): void {
    if (this.#watchers.size > 0) for (const watcher of this.#watchers) watcher(exchange);
  }

  #placeOf({ number }: Exchange): Recording | undefined {
    return this.#places[number % maxExchanges];
  }

  /** Undefined when it has gone for what reading others took. */
  #read(number: number): Exchange | undefined {
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
