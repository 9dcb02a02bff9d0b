import type { SessionReport, TunnelReport } from "../../routing/planes/messages.ts";
import type { Labels } from "./label-index.ts";

/** The agents of other nodes, of which there may be very many: objects are made for whoever asks. */
export interface OtherAgents {
  /** Goes up whenever there are others. */
  readonly changes: number;
  count(of: "sessions" | "tunnels"): number;
  session(id: string): SessionReport | undefined;
  tunnel(id: string): TunnelReport | undefined;
  /** The tunnel that an endpoint is of. */
  tunnelOfEndpoint(id: string): TunnelReport | undefined;
  /** Ids of an account's, in no particular order. */
  ids(of: "sessions" | "tunnels" | "endpoints", accountId: string): Iterable<string>;
  /** Those with names of a host (see `hostOfName`). */
  atHost(host: string): readonly TunnelReport[];
  /** Whether a tunnel of another account has the name of a host below `domain`. */
  hasForeignBelow(domain: string, accountId: string): boolean;
  /** Ids of an account's tunnels that have all of `labels`. */
  having(accountId: string, labels: Labels): readonly string[];
}
