/** How an exchange begins, whatever version of HTTP it is of. */
import type { Clock } from "../lib/clock.ts";
import { BodyCopy } from "./exchange.ts";
import type { Exchange } from "./exchange.ts";
import type { Recording } from "./recording.ts";
import type { ExchangeStore } from "./store.ts";

export interface FollowOptions {
  readonly tunnel: string;
  /** Whose connection it is, where its requests do not say: an address. */
  readonly client: string;
  /** A PROXY protocol header comes first. */
  readonly hasPreamble: boolean;
  /** The exchange that is repeated on it. */
  readonly replayOf?: string;
  readonly clock: Clock;
  readonly store: ExchangeStore;
}

/** What is known of it when its request's head has been read. */
export interface Beginning extends Pick<Exchange, "at" | "since" | "method" | "target" | "head"> {
  /** Undefined: it does not say. */
  readonly client: string | undefined;
}

/** Begins an exchange, and keeps it at `place`. */
export function beginExchange(options: FollowOptions, place: Recording, beginning: Beginning): Exchange {
  const { tunnel, client, replayOf, store } = options;
  const exchange: Exchange = {
    id: store.idOf(place.number),
    number: place.number,
    tunnel,
    ...beginning,
    client: beginning.client ?? client,
    body: new BodyCopy(),
    replayOf,
    response: undefined,
    outcome: "open",
    fault: undefined,
    connectedMs: undefined,
    durationMs: undefined,
    bytesIn: 0,
    bytesOut: 0,
    webSocket: undefined,
  };
  place.exchange = exchange;
  store.grew(exchange, exchange.head.length);
  store.changed(exchange);
  return exchange;
}

/** The edge says who asks: streams to the agent carry requests of several visitors, one after the other. */
export function clientOf(forwardedFor: string | undefined): string | undefined {
  return forwardedFor?.split(",", 1)[0]?.trim() || undefined;
}
