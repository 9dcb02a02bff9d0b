import type { Labels } from "./labels.ts";
import type { SessionReport, TunnelReport } from "./reports.ts";

/** What the management API reads of agents. There may be very many: a caller gets the objects that it asks for. */
export interface AgentReader {
  /** Grows with every change. */
  readonly changes: number;
  count(of: "sessions" | "tunnels"): number;
  session(id: string): SessionReport | undefined;
  tunnel(id: string): TunnelReport | undefined;
  /** The tunnel of an endpoint. */
  tunnelOfEndpoint(id: string): TunnelReport | undefined;
  /** Ids of an account, in no particular order. */
  ids(of: "sessions" | "tunnels" | "endpoints", accountId: string): Iterable<string>;
  /** Tunnels with names of a host (see `hostOfName`). */
  atHost(host: string): readonly TunnelReport[];
  /** Whether a tunnel of another account has the name of a host below `domain`. */
  hasForeignBelow(domain: string, accountId: string): boolean;
  /** Ids of an account's tunnels that have all of `labels`. */
  having(accountId: string, labels: Labels): readonly string[];
}
