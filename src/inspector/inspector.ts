/** What the agent's local API tells of: tunnels with their numbers, and the exchanges that passed. */
import type { TunnelOptions } from "../agent/tunnel.ts";
import type { StreamWatch } from "../agent/stream-watch.ts";
import type { Clock } from "../lib/clock.ts";
import { Follower } from "./follower.ts";
import { Meter } from "./meter.ts";
import { ExchangeStore } from "./store.ts";

/** Of all tunnels that there are and were. */
export interface Totals {
  readonly connections: Meter;
  readonly requests: Meter;
}

export interface InspectedTunnel {
  readonly options: TunnelOptions;
  /** Its exchanges are kept. */
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
  /** By name, in the order in which they were started. */
  readonly tunnels = new Map<string, InspectedTunnel>();

  readonly totals: Totals;

  /** @param maxHeldBytes of what is kept; as `ExchangeStore` has it unless given */
  constructor(clock: Clock, maxHeldBytes?: number) {
    this.store = new ExchangeStore(clock, maxHeldBytes);
    this.clock = clock;
    const monotonic = (): number => clock.monotonic();
    this.totals = { connections: new Meter(monotonic), requests: new Meter(monotonic) };
  }

  /** The tunnel as the agent is to have it. @param keeps whether its requests may be kept */
  watch(options: TunnelOptions, keeps: boolean): TunnelOptions {
    const { clock, totals } = this;
    const monotonic = (): number => clock.monotonic();
    const tunnel: InspectedTunnel = {
      options,
      isKept: keeps && !options.upstream.http2,
      connections: new Meter(monotonic),
      requests: new Meter(monotonic),
      url: undefined,
      isOnline: false,
    };
    this.tunnels.set(options.name, tunnel);
    return {
      ...options,
      request(request) {
        const now = monotonic();
        tunnel.requests.begin(now);
        totals.requests.begin(now);
        tunnel.requests.end(request.durationMs);
        totals.requests.end(request.durationMs);
        options.request?.(request);
      },
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

/** A public connection: counted, and followed where its requests are kept. */
class Connection implements StreamWatch {
  readonly #tunnel: InspectedTunnel;
  readonly #totals: Totals;
  readonly #clock: Clock;
  readonly #since: number;
  readonly #follower: Follower | undefined;
  #isOver = false;

  constructor({ clock, store, totals }: Inspector, tunnel: InspectedTunnel, clientAddress: string, isHttp: boolean) {
    this.#tunnel = tunnel;
    this.#totals = totals;
    this.#clock = clock;
    this.#since = clock.monotonic();
    tunnel.connections.begin();
    totals.connections.begin();
    if (!tunnel.isKept || !isHttp) return;
    const { name, proxyProtocol = 0 } = tunnel.options;
    const client = clientAddress.replace(/:\d+$/, "").replace(/^\[|\]$/g, "");
    this.#follower = new Follower({ tunnel: name, client, hasPreamble: proxyProtocol !== 0, clock, store });
  }

  fromServer(bytes: Buffer): void {
    this.#follower?.fromServer(bytes);
  }

  fromService(bytes: Buffer): void {
    this.#follower?.fromService(bytes);
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
