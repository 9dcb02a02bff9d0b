/** What the server has told of how long requests took there, kept as it came and read when somebody looks. */
import { findTimes } from "../tunnel/request-times.ts";
import type { RequestTimes } from "../tunnel/request-times.ts";
import type { Exchange } from "./exchange.ts";
import type { ExchangeStore } from "./store.ts";

export type { RequestTimes };

/** At least so much of what was told last is kept, bytes: several times as many lines as there are exchanges. */
const keptBytes = 131_072;
const none = Buffer.alloc(0);
/** Exchanges that are looked at for those that were told of. */
const looked = 500;

export class ToldTimes {
  readonly #store: ExchangeStore;
  /**
   * What was told, the oldest first, in bytes that are used again and again: texts that live for half a second had V8
   * collect the agent's whole heap up to ten times a second.
   */
  #lines = none;
  #length = 0;

  constructor(store: ExchangeStore) {
    this.#store = store;
  }

  /** Lines as `request-times.ts` has them. */
  told(lines: Buffer): void {
    this.#keep(lines);
    if (!this.#store.isWatched) return;
    const isTold = (exchange: Exchange): boolean => {
      const id = requestIdOf(exchange);
      return id !== "" && findTimes(lines, id) !== undefined;
    };
    for (const exchange of this.#store.list(looked, isTold)) this.#store.changed(exchange);
  }

  /** Undefined where nothing was told, or no longer is here. */
  of(exchange: Exchange): RequestTimes | undefined {
    const id = requestIdOf(exchange);
    if (id === "") return undefined;
    return findTimes(this.#lines.subarray(0, this.#length), id);
  }

  #keep(lines: Buffer): void {
    if (this.#lines.length === 0) this.#lines = Buffer.allocUnsafeSlow(2 * keptBytes);
    if (this.#length + lines.length > this.#lines.length) {
      this.#lines.copyWithin(0, this.#length - keptBytes, this.#length);
      this.#length = keptBytes;
    }
    this.#lines.set(lines, this.#length);
    this.#length += lines.length;
  }
}

const field = "\r\nx-request-id: ";

/** As the edge names it to the service, behind all other fields; "" of a replay, which is none of its requests. */
export function requestIdOf({ head, replayOf }: Exchange): string {
  if (replayOf !== undefined) return "";
  const text = head.toString("latin1").toLowerCase();
  const at = text.lastIndexOf(field);
  return at < 0 ? "" : (/^req_[0-9a-z]+(?=\r\n)/.exec(text.slice(at + field.length))?.[0] ?? "");
}
