/** What the server has told of how long requests took there, kept as it came and read when somebody looks. */
import { findTimes } from "../tunnel/request-times.ts";
import type { RequestTimes } from "../tunnel/request-times.ts";
import type { Exchange } from "./exchange.ts";
import type { ExchangeStore } from "./store.ts";

export type { RequestTimes };

/** Several times as many lines as there are exchanges. */
const maxHeldBytes = 131_072;
/** Exchanges that are looked at for those that were told of. */
const looked = 500;

export class ToldTimes {
  readonly #store: ExchangeStore;
  /** Oldest first. */
  readonly #batches: string[] = [];
  #length = 0;

  constructor(store: ExchangeStore) {
    this.#store = store;
  }

  /** Lines as `request-times.ts` has them. */
  told(lines: string): void {
    this.#batches.push(lines);
    this.#length += lines.length;
    while (this.#length > maxHeldBytes) this.#length -= this.#batches.shift()?.length ?? 0;
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
    const lines = this.#batches.findLast((batch) => findTimes(batch, id) !== undefined);
    return lines === undefined ? undefined : findTimes(lines, id);
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
