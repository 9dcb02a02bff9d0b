/** Interface of a kind of destination. Each kind has its own file and is listed in `open-targets.ts`. */
import type { EventTargetName, EventTargetValue } from "../../../resources/event-target.ts";
import type { Event } from "../event/event.ts";
import type { Outbound } from "../../../outbound/outbound.ts";
import type { OperatorKeys } from "./operator-keys.ts";

/** A destination's target, open for delivery. It may cache connections and tokens between deliveries. */
export interface EventTarget {
  readonly limits: TargetLimits;
  /**
   * Delivers events within `limits`. Resolves with the events that were not accepted; undefined if all were. If none
   * was accepted, rejects with `NotDelivered` or another error without secrets.
   * @param ordered whether no event may be finally accepted before an earlier one
   */
  deliver(events: readonly Event[], ordered: boolean): Promise<Leftover | undefined>;
  /** Releases cached connections and tokens. */
  close(): void;
}

export interface TargetLimits {
  readonly events: number;
  /** Maximum size of the events' bodies together, plus `perEvent` for each. */
  readonly bytes: number;
  readonly perEvent: number;
  /** Maximum size of one body. Larger events are shortened. */
  readonly eventBytes: number;
}

export interface Leftover {
  readonly events: readonly Event[];
  /** Why the first event was not accepted, without any secret. Undefined if there were too many for one request. */
  readonly why: string | undefined;
}

export interface TargetEnvironment {
  readonly destinationId: string;
  readonly accountId: string;
  readonly outbound: Outbound;
  /** Also reaches addresses in the private network that the operator allows. */
  readonly operatorOutbound: Outbound;
  readonly aws: OperatorKeys | undefined;
  /** Directory for files of the account. */
  readonly directory: string;
}

export interface TargetKind<N extends EventTargetName> {
  /** Why this server cannot deliver there, as a clause. Undefined if it can. */
  unavailable?(value: EventTargetValue<N>, aws: OperatorKeys | undefined): string | undefined;
  open(value: EventTargetValue<N>, environment: TargetEnvironment): EventTarget;
}

/** No event was accepted. */
export class NotDelivered extends Error {
  /** Delay that the receiver demands before the next attempt, milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, retryAfterMs?: number) {
    super(message);
    this.retryAfterMs = retryAfterMs;
  }
}

/**
 * Returns the events for which `failed` returns a reason. If `ordered`, all events after the first failed one are sent
 * again.
 */
export function collectLeftover(
  events: readonly Event[],
  failed: (index: number) => string | undefined,
  ordered: boolean,
): Leftover | undefined {
  const first = events.findIndex((_, index) => failed(index) !== undefined);
  if (first < 0) return undefined;
  const left = ordered ? events.slice(first) : events.filter((_, index) => failed(index) !== undefined);
  return { events: left, why: failed(first) as string };
}
