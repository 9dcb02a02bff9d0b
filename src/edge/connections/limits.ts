import { spliceLingerMs } from "../../lib/io/splice.ts";

/** Bounds on connections whose bytes are passed on as they are (D2). */
export interface SpliceLimits {
  /** Open at once at the edges and endpoints of one account. */
  readonly connectionsPerAccount: number;
  /** Until there is a stream to the upstream, all tries together. */
  readonly openTimeoutMs: number;
  /** Neither direction moving. */
  readonly idleTimeoutMs: number;
  /** As `idleTimeoutMs`, once one side has sent its last; and for one side to take what is left, once the other is over. */
  readonly lingerMs: number;
}

export const defaultSpliceLimits: SpliceLimits = Object.freeze({
  connectionsPerAccount: 20_000,
  openTimeoutMs: 15_000,
  idleTimeoutMs: 3_600_000,
  lingerMs: spliceLingerMs,
});
