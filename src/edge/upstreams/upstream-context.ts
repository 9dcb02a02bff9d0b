import type { Clock } from "../../lib/clock.ts";
import type { Deadlines } from "../../lib/deadlines.ts";
import type { Log } from "../../lib/log.ts";

/** State shared by the pools of an edge and their connections. */
export interface UpstreamContext {
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  readonly limits: UpstreamLimits;
  readonly log: Log;
}

/** Limits of requests to upstreams. */
export interface UpstreamLimits {
  /** Maximum size of start line and fields. A longer request head gets 431. */
  readonly maxHeadBytes: number;
  readonly maxFields: number;
  /** Maximum time without bytes in either direction of an upgraded or streaming exchange. */
  readonly idleTimeoutMs: number;
  /** Maximum time between the ends of the two sides of an upgraded exchange. */
  readonly lingerMs: number;
  /**
   * Maximum time from the end of the request to the response head. Later ones get 504. A route or tunnel can set its
   * own.
   */
  readonly upstreamTimeoutMs: number;
  /** Maximum time to open a stream to the upstream. Slower openings get 504. */
  readonly openTimeoutMs: number;
  /** Number of warm streams per tunnel that stay idle for `idleStreamMs`. Others end after `surplusStreamMs`. */
  readonly maxIdleStreams: number;
  readonly idleStreamMs: number;
  readonly surplusStreamMs: number;
  /**
   * Time for which a warm stream accepts requests that must not be sent twice. Services may close idle connections at
   * any time.
   */
  readonly sureStreamMs: number;
}
