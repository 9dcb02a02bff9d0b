import type { Clock } from "../../lib/clock.ts";
import type { Deadlines } from "../../lib/deadlines.ts";
import type { Log } from "../../lib/log.ts";

/** What the pools of an edge and their connections share. */
export interface UpstreamContext {
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  readonly limits: UpstreamLimits;
  readonly log: Log;
}

/** Bounds on requests that are sent to upstreams. */
export interface UpstreamLimits {
  /** Start line and fields together, of a response; and of a request, where beyond it is 431. */
  readonly maxHeadBytes: number;
  readonly maxFields: number;
  /** Neither direction of an upgraded or streaming exchange moving. */
  readonly idleTimeoutMs: number;
  /** Once one side of an upgraded exchange has sent its last: for the other to do so. */
  readonly lingerMs: number;
  /** From the whole request being sent to the upstream's response head, unless a route or tunnel sets its own: 504. */
  readonly upstreamTimeoutMs: number;
  /** For a stream to the upstream to open: 504. */
  readonly openTimeoutMs: number;
  /** Warm streams kept per tunnel, and for how long. */
  readonly maxIdleStreams: number;
  readonly idleStreamMs: number;
  /** How long a warm stream takes requests that may not be sent twice: services close idle connections as they like. */
  readonly sureStreamMs: number;
}
