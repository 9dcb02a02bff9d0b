import type { Socket } from "node:net";
import { runContained, makeContained, reportFailure } from "../../lib/boundary.ts";
import { discardingReceiver } from "../../lib/io/byte-stream.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import type { Deadlines, Timed } from "../../lib/deadlines.ts";
import type { Log } from "../../lib/log.ts";
import { Seat } from "../../lib/collections/roster.ts";
import type { RosterMember } from "../../lib/collections/roster.ts";
import { cutSocket, socketStream } from "../../lib/io/socket-stream.ts";
import { newConnectionId } from "../../lib/traffic-ids.ts";
import { spliceStreams } from "../../lib/io/splice.ts";
import type { OwnCertificate } from "../../lib/certificates/own-certificate.ts";
import type { ConnectionFacts, TlsFacts } from "../../traffic/connection-facts.ts";
import type { Handshake } from "../../traffic/handshake.ts";
import type { OpenConnection } from "../../traffic/open-connection.ts";
import type { Step } from "../../traffic/step.ts";
import type { ConnectionSite } from "../../routing/sites/compiled-site.ts";
import { moduleFailed } from "../../routing/sites/router-refusals.ts";
import type { Tunnel } from "../agents/tunnels/tunnel.ts";
import type { TlsEnd } from "../tls/tls-end.ts";
import type { ConnectionUpstreams, Opened } from "../upstreams/connection-upstreams.ts";
import type { SpliceCounters } from "./splice-counters.ts";
import type { SpliceLimits } from "./splice-limits.ts";
import type { ClosedConnection } from "./closed-connection.ts";
import { decideOpened, isDecidedOpen } from "./decide.ts";
import type { Deciding } from "./decide.ts";

/** State shared by the connections being served. */
export interface SplicedConnections {
  readonly upstreams: ConnectionUpstreams;
  readonly tlsEnd: TlsEnd;
  /** Returns an internal endpoint of the account. */
  readonly internal: Deciding["internal"];
  readonly counters: SpliceCounters;
  readonly limits: SpliceLimits;
  readonly deadlines: Deadlines;
  readonly clock: Clock;
  readonly log: Log;
  /** Called for every connection that is over, including refused ones. */
  readonly closed: (connection: ClosedConnection) => void;
  /** Called when the stream was opened through `tunnel`. */
  reached(served: SplicedConnection, tunnel: Tunnel): void;
  /** Called when the connection is over. */
  leave(served: SplicedConnection): void;
}

/** One connection, from its acceptance to the end of both sides. */
export class SplicedConnection implements Timed, RosterMember, OpenConnection {
  expiresAt: number;
  /** Index among all connections. */
  place = -1;
  /** Index among the connections of its tunnel. */
  readonly atTunnel = new Seat<SplicedConnection>(this);
  /** Set while the connection is served. */
  watch: Timer | undefined;
  tunnel: Tunnel | undefined;
  readonly id: string;
  readonly site: ConnectionSite;
  readonly #all: SplicedConnections;
  #socket: Socket;
  #facts: ConnectionFacts;
  #isOver = false;
  readonly #steps: Step[] = [];
  readonly #logs: Readonly<Record<string, unknown>>[] = [];
  #withdraw: () => void = () => {};
  #opened: Opened | undefined;
  #hasEnded = false;
  #sidesOver = 0;
  /** Time at which the connection is cut even if it is active, because its tunnel was closed. */
  #endsBy = Infinity;
  #bytesIn = 0;
  #bytesOut = 0;

  constructor(all: SplicedConnections, socket: Socket, facts: ConnectionFacts, site: ConnectionSite) {
    this.expiresAt = all.deadlines.now + all.limits.openTimeoutMs;
    this.id = newConnectionId(facts.startedAt);
    this.site = site;
    this.#all = all;
    this.#socket = socket;
    this.#facts = facts;
  }

  start(): void {
    this.#socket.once("close", this.#gone);
    if (!isDecidedOpen(this.site)) return this.#decided(this.site);
    decideOpened(this.site, this, {
      steps: this.#steps,
      logs: this.#logs,
      isRehearsal: false,
      internal: this.#all.internal,
      failed: (error) => reportFailure("connection", error, { connection: this.id, site: this.site.id }),
    })
      .then((site) => this.#decided(site))
      .catch((error: unknown) => this.broke(error));
  }

  /**
   * Handles an error of code that processed the connection. Denies it if no bytes were forwarded, otherwise cuts it.
   */
  broke(error: unknown): void {
    reportFailure("connection", error, { connection: this.id, site: this.site.id });
    if (this.#isOver) return;
    if (this.#opened === undefined) {
      this.#steps.push(moduleFailed(error));
      this.#withdraw();
      this.#decided(undefined);
    } else this.cut();
  }

  get facts(): ConnectionFacts {
    return this.#facts;
  }

  get endTls(): OpenConnection["endTls"] {
    const isOn = this.site.handshake.passthrough === true && this.#facts.tls === undefined;
    return isOn ? (handshake, certificate) => this.#endTls(handshake, certificate) : undefined;
  }

  async #endTls(handshake: Handshake, certificate: OwnCertificate | undefined): Promise<TlsFacts | Error> {
    const before = this.#socket;
    // From here on the handshake ends the connection, and its steps give the reason.
    before.removeListener("close", this.#gone);
    const { hello = { serverName: "", alpn: [] } } = this.#facts;
    const ended = await this.#all.tlsEnd.accept(before, this.site, hello, handshake, certificate);
    if (ended instanceof Error) return ended;
    this.#socket = ended.socket;
    this.#facts = { ...this.#facts, tls: ended.facts };
    if (ended.socket.destroyed) return new Error("the client disconnected");
    ended.socket.once("close", this.#gone);
    return ended.facts;
  }

  /** @param site whose upstream it gets, or undefined if it ends */
  #decided(site: ConnectionSite | undefined): void {
    if (this.#isOver) return;
    if (!site) {
      this.#socket.removeListener("close", this.#gone);
      this.#all.counters.ended.denied += 1;
      this.#over("denied");
      cutSocket(this.#socket);
      return;
    }
    this.#withdraw = this.#all.upstreams.open(
      site,
      this.#facts,
      this.#steps,
      () => this.#socket.destroyed,
      (opened) => {
        try {
          this.#join(opened);
        } catch (error) {
          opened?.stream.abort();
          this.broke(error);
        }
      },
    );
  }

  /** Ends both sides immediately. */
  cut(): void {
    if (this.#opened) this.#opened.stream.abort();
    cutSocket(this.#socket);
  }

  /** Cuts both sides after at most `boundMs`. 0 means immediately. */
  endWithin(boundMs: number): void {
    if (boundMs === 0) {
      this.cut();
      return;
    }
    this.#endsBy = this.#all.deadlines.now + boundMs;
    this.#expireIn(this.expiresAt - this.#all.deadlines.now);
  }

  expired(): void {
    this.expiresAt = Infinity;
    this.cut();
  }

  #expireIn(ms: number): void {
    this.expiresAt = Math.min(this.#all.deadlines.now + ms, this.#endsBy);
  }

  /** Called when the client disconnected, or was disconnected, before there was an upstream. */
  readonly #gone = makeContained(
    "connection",
    () => {
      this.#withdraw();
      this.#all.counters.ended.abandoned += 1;
      this.#over("abandoned");
    },
    () => this.#all.leave(this),
  );

  #join(opened: Opened | undefined): void {
    const { counters, limits, log } = this.#all;
    const socket = this.#socket;
    if (socket.destroyed) {
      opened?.stream.abort();
      return;
    }
    socket.removeListener("close", this.#gone);
    if (!opened) {
      counters.ended.no_upstream += 1;
      const why = this.#steps.at(-1)?.reason ?? "no backend is available";
      log.info("connection not forwarded", { ...this.#told(), why });
      this.#over("no_upstream");
      cutSocket(socket);
      return;
    }
    counters.ended.served += 1;
    this.#opened = opened;
    const { tunnel } = opened;
    if (tunnel) {
      this.tunnel = tunnel;
      this.#all.reached(this, tunnel);
    }
    const client = socketStream(socket, discardingReceiver, true);
    spliceStreams(client, opened.stream, this);
    this.#expireIn(limits.idleTimeoutMs);
    // The socket has been paused since it was accepted, so that nothing is read before now.
    socket.resume();
    if (tunnel?.online === false) this.cut();
  }

  forth(bytes: Buffer): void {
    this.#all.counters.bytesIn += bytes.length;
    this.#bytesIn += bytes.length;
    this.#touch();
  }

  back(bytes: Buffer): void {
    this.#all.counters.bytesOut += bytes.length;
    this.#bytesOut += bytes.length;
    this.#touch();
  }

  /** The client's end may be its last sign of life. Only activity keeps the connection open from now on. */
  ended(): void {
    this.#hasEnded = true;
    this.#touch();
  }

  closed(): void {
    const { clock, limits, log } = this.#all;
    this.#sidesOver += 1;
    this.#expireIn(limits.lingerMs);
    if (this.#sidesOver < 2) return;
    this.#over("served");
    const durationMs = clock.now() - this.#facts.startedAt;
    log.info("connection", { ...this.#told(), bytesIn: this.#bytesIn, bytesOut: this.#bytesOut, durationMs });
  }

  #over(outcome: ClosedConnection["outcome"]): void {
    this.#isOver = true;
    this.#all.leave(this);
    runContained("connection", () => this.#tellOver(outcome));
  }

  #tellOver(outcome: ClosedConnection["outcome"]): void {
    this.#all.closed({
      id: this.id,
      site: this.site,
      source: this.#facts.source,
      facts: this.#facts,
      steps: this.#steps,
      logs: this.#logs,
      outcome,
      bytesIn: this.#bytesIn,
      bytesOut: this.#bytesOut,
    });
  }

  #touch(): void {
    if (this.#sidesOver > 0) return;
    const { limits } = this.#all;
    this.#expireIn(this.#hasEnded ? limits.lingerMs : limits.idleTimeoutMs);
  }

  #told(): Record<string, unknown> {
    const { id, site, tunnel } = this;
    return { connection: id, site: site.id, source: this.#facts.source, ...(tunnel && { tunnel: tunnel.id }) };
  }
}
