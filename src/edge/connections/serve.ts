/** Connections to TLS and TCP edges and endpoints: who is let in, where each goes, and how it ends. */
import type { Socket } from "node:net";
import type { ByteReceiver } from "../../lib/byte-stream.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { Metrics } from "../../lib/metrics.ts";
import { cutSocket, socketStream } from "../../lib/socket-stream.ts";
import { splice } from "../../lib/splice.ts";
import type { ConnectionFacts } from "../../traffic/exchange.ts";
import type { Step } from "../../traffic/step.ts";
import type { ConnectionSite } from "../../routing/sites/compiled.ts";
import type { DialOptions } from "../upstreams/dial.ts";
import type { AgentRegistry } from "../agents/registry.ts";
import type { Tunnel } from "../agents/tunnel.ts";
import { makeAccountConnections } from "../listeners/account-connections.ts";
import type { Deadlines, Timed } from "../../lib/deadlines.ts";
import type { ClosedConnection } from "../watch/traffic-reports.ts";
import { exportSpliceCounters, makeSpliceCounters } from "./counters.ts";
import type { SpliceLimits } from "./limits.ts";
import { makeConnectionUpstreams } from "../upstreams/connection-upstreams.ts";
import type { Opened } from "../upstreams/connection-upstreams.ts";

export interface ConnectionServerOptions {
  readonly registry: AgentRegistry;
  readonly dial: DialOptions;
  readonly limits: SpliceLimits;
  readonly deadlines: Deadlines;
  /** Told of every connection that is over, also of those that were not let in. */
  readonly closed: (connection: ClosedConnection) => void;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}

export interface ConnectionServer {
  /** Connections being served. */
  readonly open: number;
  /** Whether a connection from `source` may have anything of `site`; asked before a byte of it is answered (R4). */
  readonly admits: (site: ConnectionSite, source: string) => boolean;
  /** Passes on a connection that was admitted. The socket belongs to the server from here on. */
  readonly serve: (socket: Socket, facts: ConnectionFacts, site: ConnectionSite) => void;
  /** Cuts everything. */
  destroy(): void;
}

interface Refused {
  readonly outcome: "broken" | "denied" | "account_limit";
  readonly steps: readonly Step[];
}

export function makeConnectionServer(options: ConnectionServerOptions): ConnectionServer {
  const { registry, limits, deadlines, clock, log } = options;
  const counters = makeSpliceCounters();
  const open = new Set<Served>();
  const ofAccount = makeAccountConnections(limits.connectionsPerAccount);
  const ofTunnel = new Map<Tunnel, Set<Served>>();
  exportSpliceCounters(counters, options.metrics, () => open.size);
  const upstreams = makeConnectionUpstreams({
    ...options,
    load: (tunnel) => ofTunnel.get(tunnel)?.size ?? 0,
  });
  registry.onTunnelClosed((tunnel) => {
    for (const served of ofTunnel.get(tunnel) ?? []) served.cut();
  });

  const refusal = (site: ConnectionSite, source: string): Refused | undefined => {
    if (site.problem) return { outcome: "broken", steps: [] };
    try {
      for (const module of site.connection) {
        const step = module.connection?.(source);
        if (step?.answer) return { outcome: "denied", steps: [step] };
      }
    } catch (error) {
      log.error("module failed", { site: site.id, error });
      return { outcome: "broken", steps: [] };
    }
    return ofAccount.isFull(site.accountId) ? { outcome: "account_limit", steps: [] } : undefined;
  };
  const enter = (served: Served): void => {
    open.add(served);
    deadlines.add(served);
    ofAccount.enter(served.site.accountId);
  };
  const leave = (served: Served): void => {
    if (!open.delete(served)) return;
    deadlines.delete(served);
    ofAccount.leave(served.site.accountId);
    const { tunnel } = served;
    const siblings = tunnel && ofTunnel.get(tunnel);
    siblings?.delete(served);
    if (tunnel && siblings?.size === 0) ofTunnel.delete(tunnel);
  };

  /** One connection, from its admission to the end of both of its sides. */
  class Served implements Timed {
    expiresAt = deadlines.now + limits.openTimeoutMs;
    tunnel: Tunnel | undefined;
    readonly site: ConnectionSite;
    readonly #socket: Socket;
    readonly #facts: ConnectionFacts;
    readonly #steps: Step[] = [];
    #withdraw: () => void = () => {};
    #opened: Opened | undefined;
    #hasEnded = false;
    #sidesOver = 0;
    #bytesIn = 0;
    #bytesOut = 0;

    constructor(socket: Socket, facts: ConnectionFacts, site: ConnectionSite) {
      this.site = site;
      this.#socket = socket;
      this.#facts = facts;
    }

    start(): void {
      this.#socket.once("close", this.#gone);
      this.#withdraw = upstreams.open(
        this.site,
        this.#facts,
        this.#steps,
        () => this.#socket.destroyed,
        (opened) => this.#join(opened),
      );
    }

    /** Ends both sides at once. */
    cut(): void {
      if (this.#opened) this.#opened.stream.abort();
      cutSocket(this.#socket);
    }

    expired(): void {
      this.expiresAt = Infinity;
      this.cut();
    }

    /** The client went away, or was sent away, before there was an upstream. */
    readonly #gone = (): void => {
      this.#withdraw();
      counters.ended.abandoned += 1;
      this.#over("abandoned");
    };

    #join(opened: Opened | undefined): void {
      const socket = this.#socket;
      if (socket.destroyed) {
        opened?.stream.abort();
        return;
      }
      socket.removeListener("close", this.#gone);
      if (!opened) {
        counters.ended.no_upstream += 1;
        const why = this.#steps.at(-1)?.reason ?? "there is no backend";
        log.info("connection not passed on", { ...this.#told(), why });
        this.#over("no_upstream");
        cutSocket(socket);
        return;
      }
      counters.ended.served += 1;
      this.#opened = opened;
      const { tunnel } = opened;
      if (tunnel) {
        this.tunnel = tunnel;
        const siblings = ofTunnel.get(tunnel);
        if (siblings) siblings.add(this);
        else ofTunnel.set(tunnel, new Set([this]));
      }
      const client = socketStream(socket, nobody, true);
      splice(client, opened.stream, this);
      this.expiresAt = deadlines.now + limits.idleTimeoutMs;
      // Paused since it was accepted: nothing was to be read before now.
      socket.resume();
      if (tunnel?.online === false) this.cut();
    }

    forth(bytes: Buffer): void {
      counters.bytesIn += bytes.length;
      this.#bytesIn += bytes.length;
      this.#touch();
    }

    back(bytes: Buffer): void {
      counters.bytesOut += bytes.length;
      this.#bytesOut += bytes.length;
      this.#touch();
    }

    /** An end may be all that is ever heard of a client that has gone: only what still moves keeps the rest open. */
    ended(): void {
      this.#hasEnded = true;
      this.#touch();
    }

    closed(): void {
      this.#sidesOver += 1;
      this.expiresAt = deadlines.now + limits.lingerMs;
      if (this.#sidesOver < 2) return;
      this.#over("served");
      const durationMs = clock.now() - this.#facts.startedAt;
      log.info("connection", { ...this.#told(), bytesIn: this.#bytesIn, bytesOut: this.#bytesOut, durationMs });
    }

    #over(outcome: ClosedConnection["outcome"]): void {
      leave(this);
      options.closed({
        site: this.site,
        source: this.#facts.source,
        facts: this.#facts,
        steps: this.#steps,
        outcome,
        bytesIn: this.#bytesIn,
        bytesOut: this.#bytesOut,
      });
    }

    #touch(): void {
      if (this.#sidesOver > 0) return;
      this.expiresAt = deadlines.now + (this.#hasEnded ? limits.lingerMs : limits.idleTimeoutMs);
    }

    #told(): Record<string, unknown> {
      const { site, tunnel } = this;
      return { site: site.id, source: this.#facts.source, ...(tunnel && { tunnel: tunnel.id }) };
    }
  }

  return {
    get open() {
      return open.size;
    },
    admits(site, source) {
      const refused = refusal(site, source);
      if (refused === undefined) return true;
      const { outcome } = refused;
      counters.ended[outcome] += 1;
      log.debug("connection refused", { site: site.id, source, why: outcome });
      options.closed({ site, source, ...refused, bytesIn: 0, bytesOut: 0 });
      return false;
    },
    serve(socket, facts, site) {
      const served = new Served(socket, facts, site);
      enter(served);
      served.start();
    },
    destroy() {
      for (const served of open) served.cut();
    },
  };
}

const nobody: ByteReceiver = { data() {}, ended() {}, drained() {}, closed() {} };
