import type { Event } from "./event/event.ts";

/** Events that wait for delivery to one destination. */
export interface EventQueue {
  /** Whether events must be delivered in order. */
  readonly ordered: boolean;
  /** Returns the next events. Empty if there is nothing to deliver now. */
  read(): Promise<readonly Event[]>;
  /**
   * Removes events of the last read that were delivered or dropped. In an ordered queue these are always the first
   * events.
   */
  settled(events: readonly Event[]): void;
}
