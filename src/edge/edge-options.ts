/** What an edge is given, and what its owner can do with it. */
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import type { Metrics } from "../lib/metrics.ts";
import type { KeyedCertificate } from "../lib/x509.ts";
import type { EdgeSettings } from "../settings/edge.ts";
import type { AgentLimits } from "./agents/limits.ts";
import type { SpliceLimits } from "./connections/limits.ts";
import type { HttpLimits } from "./http/context.ts";
import type { ListenerLimits } from "./listeners/limits.ts";
import type { PeerAddress } from "./peers/address.ts";
import type { TraceLimits } from "./watch/traces.ts";
import type { TrafficReportLimits } from "./watch/traffic-reports.ts";

/** What an edge that has others beside it must know of them. */
export interface PeerOptions {
  /** Where the others reach it. */
  readonly listen: PeerAddress;
  /** At least 32 bytes, which nobody but the edges has: both ends of a line prove to one another that they know it. */
  readonly secret: Uint8Array;
  /** How many edges there are, with this one. */
  readonly count: number;
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
  /** Where there are other edges beside it, on the same ports. */
  readonly peers?: PeerOptions | undefined;
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
  /** After the delay, accepts nothing more, and resolves when what is in flight has ended or the bound is reached. */
  drain(): Promise<void>;
  /** Drains, says goodbye to agents and closes everything. */
  stop(): Promise<void>;
}
