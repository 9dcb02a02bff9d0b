/** Durations that the server reported for requests, stored as received and parsed on demand. */
import { findTimes } from "../tunnel/request-times.ts";
import type { RequestTimes } from "../tunnel/request-times.ts";
import type { InspectedExchange } from "./inspected-exchange.ts";
import type { ExchangeStore } from "./exchange-store.ts";

export type { RequestTimes };

/** Minimum number of bytes stored of the latest reports. Several times as many lines as there are exchanges. */
const keptBytes = 131_072;
const none = Buffer.alloc(0);
/** Number of exchanges that are searched for a reported one. */
const looked = 500;

export class ToldTimes {
  readonly #store: ExchangeStore;
  /**
   * Reports, oldest first, in reusable buffers. Strings that live for half a second would trigger up to ten full
   * garbage collections per second.
   */
  #lines = none;
  #length = 0;
  #hasCountries = false;

  constructor(store: ExchangeStore) {
    this.#store = store;
  }

  /** Adds lines in the format of `request-times.ts`. */
  told(lines: Buffer): void {
    this.#keep(lines);
    this.#hasCountries ||= hasCountry(lines);
    if (!this.#store.isWatched) return;
    const isTold = (exchange: InspectedExchange): boolean => {
      const id = requestIdOf(exchange);
      return id !== "" && findTimes(lines, id) !== undefined;
    };
    for (const exchange of this.#store.list(looked, isTold)) this.#store.changed(exchange);
  }

  /** Returns undefined if the server reported nothing, or the report was evicted. */
  of(exchange: InspectedExchange): RequestTimes | undefined {
    const id = requestIdOf(exchange);
    if (id === "") return undefined;
    return findTimes(this.#lines.subarray(0, this.#length), id);
  }

  /** Country of the visitor. Searches nothing if the server has not reported any country. */
  countryOf(exchange: InspectedExchange): string | undefined {
    return this.#hasCountries ? this.of(exchange)?.country : undefined;
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

/** Whether a line begins with a capital letter. Request ids have none. */
function hasCountry(lines: Buffer): boolean {
  for (let at = 0; at < lines.length; at = lines.indexOf(10, at) + 1) {
    const first = lines[at] as number;
    if (first >= 65 && first <= 90) return true;
    if (lines.indexOf(10, at) < 0) return false;
  }
  return false;
}

const field = "\r\nx-request-id: ";

/** The request id that the edge sent to the service as the last field; "" for a replay, which has none. */
export function requestIdOf({ head, replayOf }: InspectedExchange): string {
  if (replayOf !== undefined) return "";
  const text = head.toString("latin1").toLowerCase();
  const at = text.lastIndexOf(field);
  return at < 0 ? "" : (/^req_[0-9a-z]+(?=\r\n)/.exec(text.slice(at + field.length))?.[0] ?? "");
}
