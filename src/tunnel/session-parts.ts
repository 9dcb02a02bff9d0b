import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import type { TunnelLimits } from "./tunnel-limits.ts";
import type { Mux } from "./mux/mux.ts";
import type { Proofs } from "./proofs.ts";
import type { ServerHooks } from "./server-hooks.ts";

/** Parts of a session. */
export interface SessionParts {
  readonly mux: Mux;
  readonly hooks: ServerHooks;
  readonly proofs: Proofs;
  readonly limits: TunnelLimits;
  readonly clock: Clock;
  readonly log: Log;
  readonly region: string;
  /** Number of edges and nodes at which Postern agents may have sessions. */
  readonly edges: () => number;
  readonly nodes: () => number;
  /** Names the edges of this node. Changes when one of them starts again. */
  readonly edgeSet: () => string;
}

export interface SessionIdentity {
  readonly id: string;
  readonly clientId: string;
  readonly accountId: string;
  readonly credentialId: string;
  readonly ip: string;
  readonly isSsh: boolean;
}
