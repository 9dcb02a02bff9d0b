import { spliceLingerMs } from "../../lib/io/splice.ts";

/** Limits of connections whose bytes are forwarded unchanged (D2). */
export interface SpliceLimits {
  /** Maximum number of open connections at the edges and endpoints of one account. */
  readonly connectionsPerAccount: number;
  /** Maximum time until a stream to the upstream is open, over all tries. */
  readonly openTimeoutMs: number;
  /** Maximum time without bytes in either direction. */
  readonly idleTimeoutMs: number;
  /**
   * Like `idleTimeoutMs`, after one side has ended its direction. Also the time for one side to read the remaining
   * bytes after the other side is over.
   */
  readonly lingerMs: number;
}

export const defaultSpliceLimits: SpliceLimits = Object.freeze({
  connectionsPerAccount: 20_000,
  openTimeoutMs: 15_000,
  idleTimeoutMs: 3_600_000,
  lingerMs: spliceLingerMs,
});
