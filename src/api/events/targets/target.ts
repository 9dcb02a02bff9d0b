/** What a kind of destination is made of: one file each, listed in `targets.ts`. */
import type { EventTargetName, EventTargetValue } from "../../../resources/event-target.ts";
import type { Event } from "../event/event.ts";
import type { Outbound } from "../../../outbound/client.ts";
import type { OperatorKeys } from "./operator-keys.ts";

/** A destination's target, open for delivery: it may keep connections and tokens between deliveries. */
export interface Target {
  readonly limits: TargetLimits;
  /**
   * Delivers events within `limits`. Resolves with what was not taken; undefined when all were. Rejects
   * with `NotDelivered`, or another error that names no secret, when none was.
   * @param ordered a later event must not be taken for good before an earlier one
   */
  deliver(events: readonly Event[], ordered: boolean): Promise<Leftover | undefined>;
  /** Lets go of what is kept. */
  close(): void;
}

export interface TargetLimits {
  readonly events: number;
  /** Of the events' bodies together, `perEvent` added for each. */
  readonly bytes: number;
  readonly perEvent: number;
  /** Longer bodies are delivered in their short form. */
  readonly eventBytes: number;
}

export interface Leftover {
  readonly events: readonly Event[];
  /** Why the first of them was not taken, without any secret; undefined: they were too many at once. */
  readonly why: string | undefined;
}

export interface TargetSurroundings {
  readonly destinationId: string;
  readonly accountId: string;
  readonly outbound: Outbound;
  /** Also reaches what the operator has named in this network. */
  readonly operatorOutbound: Outbound;
  readonly aws: OperatorKeys | undefined;
  /** Where files of the account are written. */
  readonly directory: string;
}

export interface TargetKind<N extends EventTargetName> {
  /** Why this server cannot deliver there, as a clause; undefined when it can. */
  unavailable?(value: EventTargetValue<N>, aws: OperatorKeys | undefined): string | undefined;
  open(value: EventTargetValue<N>, surroundings: TargetSurroundings): Target;
}

/** Nothing was taken. */
export class NotDelivered extends Error {
  /** How long the receiver wants to be left alone, milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, retryAfterMs?: number) {
    super(message);
    this.retryAfterMs = retryAfterMs;
  }
}

/** What `failed` says of the events at those places; in order, all behind the first one are sent again as well. */
export function leftover(
  events: readonly Event[],
  failed: (index: number) => string | undefined,
  ordered: boolean,
): Leftover | undefined {
  const first = events.findIndex((_, index) => failed(index) !== undefined);
  if (first < 0) return undefined;
  const left = ordered ? events.slice(first) : events.filter((_, index) => failed(index) !== undefined);
  return { events: left, why: failed(first) as string };
}
