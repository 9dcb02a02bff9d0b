/** What an edge is given, and what its owner can do with it. */
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import type { Metrics } from "../lib/metrics.ts";
import type { KeyedCertificate } from "../lib/certificates/x509.ts";
import type { EdgeSettings } from "../settings/edge.ts";
import type { AgentLimits } from "./agents/tunnels/limits.ts";
import type { SpliceLimits } from "./connections/limits.ts";
import type { HttpLimits } from "./http/context.ts";
import type { ListenerLimits } from "./listeners/limits.ts";
import type { TlsPlace } from "./peers/tls-transport.ts";
import type { UnixPlace } from "./peers/unix-transport.ts";
import type { TraceLimits } from "./watch/traces.ts";
import type { TrafficReportLimits } from "./watch/traffic-reports.ts";

/** What an edge that has others, of its server or of other nodes, must know of them. */
export interface PeerOptions {
  /** How many edges this server has, with this one. */
  readonly count: number;
  /** Where those reach it; undefined where there is one. */
  readonly beside?: UnixPlace | undefined;
  /** Where the edges of other nodes reach it; undefined where there are none. */
  readonly nodes?: TlsPlace | undefined;
}

/** What the operator has set, and what an edge is made of besides. */
export interface EdgeOptions extends EdgeSettings {
  /** The server's own certificate authority. */
  readonly authority: KeyedCertificate;
  /** Names and addresses by which agents reach this server, besides those of the machine and the domain. */
  readonly agentNames?: readonly string[];
  /** At least 32 bytes, the same after a restart. */
  readonly tunnelSecret: Uint8Array;
  readonly serverVersion: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  /** How long a stop waits for what is in flight, milliseconds. */
  readonly drainMs: number;
  /** Where there are other edges: beside it on the same ports, or at other nodes. */
  readonly peers?: PeerOptions | undefined;
  /** Marks of work that earlier runs of this edge have hung on; none unless given. */
  readonly refused?: ReadonlySet<number>;
  /** Chance for expressions, 0 up to, and without, 1; `Math.random` unless given. */
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
  /** Shows certificates of another authority of the server from the next handshake on. */
  replaceAuthority(authority: KeyedCertificate): void;
  /** After the delay, accepts nothing more, and resolves when what is in flight has ended or the bound is reached. */
  drain(): Promise<void>;
  /** Drains, says goodbye to agents and closes everything. */
  stop(): Promise<void>;
}
