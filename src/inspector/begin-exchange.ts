/** Starts an exchange, for every version of HTTP. */
import type { Clock } from "../lib/clock.ts";
import { BodyCopy } from "./inspected-exchange.ts";
import type { InspectedExchange } from "./inspected-exchange.ts";
import type { Recording } from "./recording.ts";
import type { ExchangeStore } from "./exchange-store.ts";

export interface FollowOptions {
  readonly tunnel: string;
  /** Address of the peer, used if the request does not name its client. */
  readonly client: string;
  /** A PROXY protocol header precedes the request. */
  readonly hasPreamble: boolean;
  /** Id of the exchange that this one replays. */
  readonly replayOf?: string;
  readonly clock: Clock;
  readonly store: ExchangeStore;
}

/** The exchange as known from the head of its request. */
export interface Beginning extends Pick<InspectedExchange, "at" | "since" | "method" | "target" | "head"> {
  /** Undefined if the request does not name its client. */
  readonly client: string | undefined;
}

/** Starts an exchange and stores it at `place`. */
export function beginExchange(options: FollowOptions, place: Recording, beginning: Beginning): InspectedExchange {
  const { tunnel, client, replayOf, store } = options;
  const exchange: InspectedExchange = {
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

/** The edge names the client of each request, because one stream to the agent carries requests of several visitors. */
export function clientOf(forwardedFor: string | undefined): string | undefined {
  return forwardedFor?.split(",", 1)[0]?.trim() || undefined;
}
