/** Open requests that a login admitted, which are aborted when the login ends. */
import type { Clock } from "../../lib/clock.ts";
import type { Exchange, ExchangeWatcher } from "../../traffic/exchange.ts";
import type { Session } from "./login-session.ts";

export interface OpenExchanges {
  /** @param endsAfterMs maximum age of the session for this request; 0 if there is none */
  add(exchange: Exchange, session: Session, endsAfterMs: number): void;
  /** Aborts the requests of sessions that have ended. */
  sweep(): void;
  readonly size: number;
  stop(): void;
}

const sweepMs = 500;

export function makeOpenExchanges(clock: Clock): OpenExchanges {
  const open: ExchangeList = { first: undefined, size: 0 };
  const sweep = (): void => {
    let held = open.first;
    while (held !== undefined) {
      // An aborted request ends immediately and removes itself from the list.
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
      // A dry run cannot be aborted, and a request may have ended while the provider was asked.
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

interface ExchangeList {
  first: Held | undefined;
  size: number;
}

/** A linked list node, which costs a request less than a Map entry. */
class Held implements ExchangeWatcher {
  readonly exchange: Exchange;
  readonly session: Session;
  readonly endsAfterMs: number;
  moved = 0;
  next: Held | undefined;
  /** The watcher of another login that admitted the same request. */
  readonly #also: ExchangeWatcher | undefined;
  #previous: Held | undefined;
  #list: ExchangeList | undefined;

  constructor(list: ExchangeList, exchange: Exchange, session: Session, endsAfterMs: number) {
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

  /** Removes the node, once. */
  over(): void {
    const list = this.#list;
    if (list === undefined) return;
    this.#list = undefined;
    if (this.#previous === undefined) list.first = this.next;
    else this.#previous.next = this.next;
    if (this.next !== undefined) this.next.#previous = this.#previous;
    // After promotion to the old generation, this reference would keep all later nodes alive.
    this.#previous = undefined;
    list.size -= 1;
    this.#also?.over();
  }
}
