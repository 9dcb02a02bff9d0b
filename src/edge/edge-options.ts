/** Options of an edge, and the interface for its owner. */
import type { CaptureLine } from "../capture/capture-batch.ts";
import type { AddressData } from "../geo/address-book.ts";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import type { AccessBatch, AccessWritten } from "../lib/access-fields.ts";
import type { Metrics } from "../lib/metrics.ts";
import type { KeyedCertificate } from "../lib/certificates/x509.ts";
import type { EdgeSettings } from "../settings/edge.ts";
import type { AgentLimits } from "./agents/tunnels/agent-limits.ts";
import type { SpliceLimits } from "./connections/splice-limits.ts";
import type { HttpLimits } from "./http/http-context.ts";
import type { ListenerLimits } from "./listeners/listener-limits.ts";
import type { TlsPlace } from "./peers/tls-transport.ts";
import type { UnixPlace } from "./peers/unix-transport.ts";
import type { Tracing } from "./watch/tracing.ts";
import type { TraceLimits } from "./watch/traces.ts";
import type { TrafficReportLimits } from "./watch/traffic-reports.ts";

/** Settings for an edge with other edges, of its server or of other nodes. */
export interface PeerOptions {
  /** Number of this server's edges, including this one. */
  readonly count: number;
  /** How the server's other edges reach this one. Undefined if it is the only one. */
  readonly beside?: UnixPlace | undefined;
  /** How the edges of other nodes reach this one. Undefined without other nodes. */
  readonly nodes?: TlsPlace | undefined;
}

/** Where an edge gets locations and categories of addresses. */
export interface EdgeAddresses {
  /** The data at the start; undefined if they are loaded when a rule needs them. */
  readonly data: AddressData | undefined;
  /** Called when a rule needs them. They then arrive with `replaceAddresses`. */
  wanted(): void;
}

/** Ports at which an edge listens for visitors. */
export interface PublicPorts {
  readonly httpsPort: number;
  readonly httpPort: number | undefined;
}

export interface EdgeCapture {
  readonly line: CaptureLine;
  /** Number of this edge at its node, from 1. The first one answers for the whole node. */
  readonly edge: number;
}

/** The operator's settings and the edge's dependencies. */
export interface EdgeOptions extends EdgeSettings {
  /** The server's own certificate authority. */
  readonly authority: KeyedCertificate;
  /** At least 32 bytes, the same after a restart. */
  readonly tunnelSecret: Uint8Array;
  readonly serverVersion: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Writes lines of the access log; absent without one. */
  readonly accessLines?: ((batch: AccessBatch) => void) | undefined;
  /** Records spans of requests; absent without telemetry. */
  readonly tracing?: Tracing | undefined;
  /** Default: locations are unknown. */
  readonly addresses?: EdgeAddresses | undefined;
  /** Line to the thread that writes captured requests; absent without one. */
  readonly capture?: EdgeCapture | undefined;
  /** Maximum time that a stop waits for requests in flight, milliseconds. */
  readonly drainMs: number;
  /**
   * Called when the edge listens for visitors and could listen for agents. It listens for agents when the promise
   * resolves. Requires a port in `agentListen`. Default: the edge listens immediately.
   */
  readonly beforeAgents?: ((ports: PublicPorts) => Promise<void>) | undefined;
  /** Set if there are other edges: on the same ports, or at other nodes. */
  readonly peers?: PeerOptions | undefined;
  /** Path of the socket for the SSH thread of this server; absent without one. */
  readonly gatewayPath?: string | undefined;
  /** Marks of work that blocked earlier runs of this edge. Default: none. */
  readonly refused?: ReadonlySet<number>;
  /** Returns a random number from 0 up to, but not including, 1, for expressions. Default: `Math.random`. */
  readonly random?: () => number;
  readonly limits?: {
    readonly connections?: Partial<ListenerLimits>;
    readonly http?: Partial<HttpLimits>;
    readonly agents?: Partial<AgentLimits>;
    readonly traces?: Partial<TraceLimits>;
    readonly splices?: Partial<SpliceLimits>;
    readonly trafficReports?: Partial<TrafficReportLimits>;
  };
}

export interface Edge {
  readonly https: { readonly host: string; readonly port: number };
  readonly http: { readonly host: string; readonly port: number } | undefined;
  readonly agent: { readonly host: string; readonly port: number };
  /** Uses certificates of another authority of the server from the next handshake on. */
  replaceAuthority(authority: KeyedCertificate): void;
  /** Uses these locations and categories for the next requests. */
  replaceAddresses(data: AddressData): void;
  /** Lines of the access log were written, or were lost. */
  accessWritten(result: AccessWritten): void;
  /**
   * After the delay, stops accepting connections. Resolves when those in flight have finished or the maximum time is
   * over.
   */
  drain(isObserved: boolean): Promise<void>;
  /** Drains, disconnects agents and closes everything. */
  stop(): Promise<void>;
}
