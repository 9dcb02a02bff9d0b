import type { Event } from "./event/event.ts";

/** Events that wait for delivery to one destination. */
export interface EventQueue {
  /** Later ones must not be delivered for good before earlier ones. */
  readonly ordered: boolean;
  /** The next ones; none when there is nothing to deliver now. */
  read(): Promise<readonly Event[]>;
  /** Those of what was read last that are delivered or given up; of an ordered queue always the first of them. */
  settled(events: readonly Event[]): void;
}
