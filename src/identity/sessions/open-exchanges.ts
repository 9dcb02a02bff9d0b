/** Requests that a login has let in and that are not over: cut when it ends. */
import type { Clock } from "../../lib/clock.ts";
import type { Exchange, ExchangeWatcher } from "../../traffic/exchange.ts";
import type { Session } from "./session.ts";

export interface OpenExchanges {
  /** @param endsAfterMs the session's longest age for this request; 0: none */
  add(exchange: Exchange, session: Session, endsAfterMs: number): void;
  /** Cuts what belongs to sessions that have ended. */
  sweep(): void;
  readonly size: number;
  stop(): void;
}

const sweepMs = 500;

export function makeOpenExchanges(clock: Clock): OpenExchanges {
  const open: List = { first: undefined, size: 0 };
  const sweep = (): void => {
    let held = open.first;
    while (held !== undefined) {
      // What is cut is over at once, and takes itself out.
      const { next, exchange, session, endsAfterMs } = held;
      if (session.ended || session.isBeyond(clock) || (endsAfterMs > 0 && session.age(clock) >= endsAfterMs)) {
        held.over();
        exchange.breakOff?.();
      } else {
        const moved = exchange.bytesMoved ?? 0;
        if (moved !== held.moved) session.touch(clock);
        held.moved = moved;
      }
      held = next;
    }
  };
  const timer = clock.every(sweepMs, sweep);
  return {
    add(exchange, session, endsAfterMs) {
      // A described request is never broken off; another one may have ended while a provider was asked.
      if (exchange.breakOff === undefined || exchange.isOver === true) return;
      exchange.watcher = new Held(open, exchange, session, endsAfterMs);
    },
    sweep,
    get size() {
      return open.size;
    },
    stop: () => timer.cancel(),
  };
}

interface List {
  first: Held | undefined;
  size: number;
}

/** One of a list, which costs a request less than a Map does. */
class Held implements ExchangeWatcher {
  readonly exchange: Exchange;
  readonly session: Session;
  readonly endsAfterMs: number;
  moved = 0;
  next: Held | undefined;
  /** Of another login that has let the same request in. */
  readonly #also: ExchangeWatcher | undefined;
  #previous: Held | undefined;
  #list: List | undefined;

  constructor(list: List, exchange: Exchange, session: Session, endsAfterMs: number) {
    this.exchange = exchange;
    this.session = session;
    this.endsAfterMs = endsAfterMs;
    this.#also = exchange.watcher;
    this.#list = list;
    this.next = list.first;
    if (this.next !== undefined) this.next.#previous = this;
    list.first = this;
    list.size += 1;
  }

  /** Takes it out, once. */
  over(): void {
    const list = this.#list;
    if (list === undefined) return;
    this.#list = undefined;
    if (this.#previous === undefined) list.first = this.next;
    else this.#previous.next = this.next;
    if (this.next !== undefined) this.next.#previous = this.#previous;
    // Once the collector holds this for old, it would keep all that came after it.
    this.#previous = undefined;
    list.size -= 1;
    this.#also?.over();
  }
}
