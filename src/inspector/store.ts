/** The last exchanges, within a bound of their number and one of their bytes. */
import { randomBytes } from "node:crypto";
import type { Exchange } from "./exchange.ts";

const maxExchanges = 500;
const usualHeldBytes = 67_108_864;
/** What an exchange takes besides heads and bodies, about, bytes. */
const ownBytes = 512;

/** Told of each exchange that has changed; undefined: all are forgotten. */
export type Watcher = (exchange: Exchange | undefined) => void;

export class ExchangeStore {
  readonly #maxHeldBytes: number;
  /** Oldest first, with the bytes that each holds. */
  readonly #held = new Map<Exchange, number>();
  readonly #byId = new Map<string, Exchange>();
  #bytes = 0;
  /** What tells ids of this agent from those of the one before; chance for each would cost more than all the rest. */
  readonly #prefix = randomBytes(4).toString("hex");
  #made = 0;
  readonly #watchers = new Set<Watcher>();

  /** @param maxHeldBytes of heads and bodies together */
  constructor(maxHeldBytes = usualHeldBytes) {
    this.#maxHeldBytes = maxHeldBytes;
  }

  newId(): string {
    this.#made += 1;
    return this.#prefix + this.#made.toString(16).padStart(8, "0");
  }

  add(exchange: Exchange): void {
    this.#held.set(exchange, 0);
    this.#byId.set(exchange.id, exchange);
    if (this.#held.size > maxExchanges) this.#dropOldest();
    this.grew(exchange, ownBytes + exchange.head.length);
  }

  /** Whether it is still here: one that is not takes no more bodies. */
  has(exchange: Exchange): boolean {
    return this.#held.has(exchange);
  }

  /** `exchange` holds more bytes than before; the oldest ones go for it. */
  grew(exchange: Exchange, bytes: number): void {
    const before = this.#held.get(exchange);
    if (before === undefined) return;
    this.#held.set(exchange, before + bytes);
    this.#bytes += bytes;
    while (this.#bytes > this.#maxHeldBytes) this.#dropOldest();
  }

  get(id: string): Exchange | undefined {
    return this.#byId.get(id);
  }

  /** Newest first, at most `limit`, of those that fit. */
  list(limit: number, fits: (exchange: Exchange) => boolean = () => true): Exchange[] {
    return [...this.#held.keys()].filter(fits).reverse().slice(0, limit);
  }

  clear(): void {
    this.#held.clear();
    this.#byId.clear();
    this.#bytes = 0;
    for (const watcher of this.#watchers) watcher(undefined);
  }

  /** Until the function that is returned is called. */
  watch(watcher: Watcher): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  /** Something of it is otherwise than it was. */
  changed(exchange: Exchange): void {
    if (this.#watchers.size > 0) for (const watcher of this.#watchers) watcher(exchange);
  }

  #dropOldest(): void {
    for (const [oldest, bytes] of this.#held) {
      this.#held.delete(oldest);
      this.#byId.delete(oldest.id);
      this.#bytes -= bytes;
      return;
    }
  }
}
