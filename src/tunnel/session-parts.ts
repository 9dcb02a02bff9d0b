import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import type { TunnelLimits } from "./limits.ts";
import type { Mux } from "./mux/mux.ts";
import type { Proofs } from "./proofs.ts";
import type { ServerHooks } from "./server-hooks.ts";

/** What a session is made of. */
export interface SessionParts {
  readonly mux: Mux;
  readonly hooks: ServerHooks;
  readonly proofs: Proofs;
  readonly limits: TunnelLimits;
  readonly clock: Clock;
  readonly log: Log;
  readonly region: string;
  /** At how many edges and nodes agents of ours may have a session. */
  readonly edges: () => number;
  readonly nodes: () => number;
}

export interface SessionIdentity {
  readonly id: string;
  readonly clientId: string;
  readonly accountId: string;
  readonly credentialId: string;
  readonly ip: string;
}
