/** The state behind the agent's local API: tunnels with their counters, and captured exchanges. */
import type { TunnelOptions } from "../agent/tunnel-options.ts";
import type { StreamWatch } from "../agent/stream-watch.ts";
import type { Clock } from "../lib/clock.ts";
import type { WatchedRequest } from "../agent/request-watch.ts";
import { ExchangeFollower } from "./exchange-follower.ts";
import type { Http2Reader } from "./http2-reader.ts";
import { Meter } from "./meter.ts";
import { ExchangeStore } from "./exchange-store.ts";
import { ToldTimes } from "./told-times.ts";

/** Totals over all present and past tunnels. */
export interface Totals {
  readonly connections: Meter;
  readonly requests: Meter;
}

export interface InspectedTunnel {
  readonly options: TunnelOptions;
  /** Whether its exchanges are captured. */
  readonly isKept: boolean;
  readonly connections: Meter;
  readonly requests: Meter;
  /** Undefined until it is online, and for labelled tunnels. */
  url: string | undefined;
  isOnline: boolean;
}

export class Inspector {
  readonly store: ExchangeStore;
  readonly clock: Clock;
  /** By name, in start order. */
  readonly tunnels = new Map<string, InspectedTunnel>();

  readonly totals: Totals;
  readonly times: ToldTimes;
  /** The HTTP/2 reader, loaded with the first tunnel that needs it. */
  http2Reader: typeof Http2Reader | undefined;

  /** @param maxHeldBytes bound of captured data; see `ExchangeStore` for the default */
  constructor(clock: Clock, maxHeldBytes?: number) {
    this.store = new ExchangeStore(clock, maxHeldBytes);
    this.clock = clock;
    this.times = new ToldTimes(this.store);
    const monotonic = (): number => clock.monotonic();
    this.totals = { connections: new Meter(monotonic), requests: new Meter(monotonic) };
  }

  /**
   * Returns the tunnel's options with a watch added.
   * @param keeps whether its requests may be captured
   */
  async watch(options: TunnelOptions, keeps: boolean): Promise<TunnelOptions> {
    const { clock, totals } = this;
    const monotonic = (): number => clock.monotonic();
    const tunnel: InspectedTunnel = {
      options,
      isKept: keeps,
      connections: new Meter(monotonic),
      requests: new Meter(monotonic),
      url: undefined,
      isOnline: false,
    };
    this.tunnels.set(options.name, tunnel);
    if (keeps && options.upstream.http2) this.http2Reader ??= (await import("./http2-reader.ts")).Http2Reader;
    const request = (one: WatchedRequest): void => {
      tunnel.requests.begin(one.endedAt);
      totals.requests.begin(one.endedAt);
      tunnel.requests.end(one.durationMs);
      totals.requests.end(one.durationMs);
      options.request?.(one);
    };
    return {
      ...options,
      request,
      ...(keeps && isHttp(options) && { wantsTimes: true }),
      status: (status) => {
        tunnel.isOnline = status.state === "online";
        if (status.state === "online") tunnel.url = status.url;
        else if (status.state !== "waiting") this.tunnels.delete(options.name);
        options.status?.(status);
      },
      opened: (clientAddress, isHttp) => new Connection(this, tunnel, clientAddress, isHttp),
    };
  }
}

/** A public connection: counted, and captured if its tunnel allows that. */
class Connection implements StreamWatch {
  readonly #tunnel: InspectedTunnel;
  readonly #totals: Totals;
  readonly #clock: Clock;
  readonly #since: number;
  readonly #follower: StreamWatch | undefined;
  #isOver = false;

  constructor(
    { clock, store, totals, http2Reader }: Inspector,
    tunnel: InspectedTunnel,
    clientAddress: string,
    isHttp: boolean,
  ) {
    this.#tunnel = tunnel;
    this.#totals = totals;
    this.#clock = clock;
    this.#since = clock.monotonic();
    tunnel.connections.begin();
    totals.connections.begin();
    if (!tunnel.isKept || !isHttp) return;
    const { name, proxyProtocol = 0, upstream } = tunnel.options;
    const client = clientAddress.replace(/:\d+$/, "").replace(/^\[|\]$/g, "");
    const options = { tunnel: name, client, hasPreamble: proxyProtocol !== 0, clock, store };
    if (!upstream.http2) this.#follower = new ExchangeFollower(options);
    else if (http2Reader) this.#follower = new http2Reader(options);
  }

  connected(): void {
    this.#follower?.connected?.();
  }

  fromServer(bytes: Buffer, at?: number): void {
    this.#follower?.fromServer(bytes, at);
  }

  fromService(bytes: Buffer, at?: number): void {
    this.#follower?.fromService(bytes, at);
  }

  ended(error?: Error): void {
    this.#follower?.ended(error);
    if (this.#isOver) return;
    this.#isOver = true;
    const durationMs = this.#clock.monotonic() - this.#since;
    this.#tunnel.connections.end(durationMs);
    this.#totals.connections.end(durationMs);
  }
}

/** A labelled tunnel can be of any kind, and the server says which connections are HTTP. */
function isHttp({ proto = "https" }: TunnelOptions): boolean {
  return proto === "https" || proto === "http";
}
