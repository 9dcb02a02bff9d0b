/**
 * Stores the last delivered events in memory, for the console and the API. It covers this server only;
 * `shared-deliveries.ts` covers the others.
 */
import { Lru } from "../../lib/collections/lru.ts";
import type { Event } from "./event/event.ts";
import type { EventTarget } from "./targets/opened-target.ts";

/** Maximum number of events per destination. */
const most = 100;
/** Maximum number of destinations. The destination without deliveries for the longest time is evicted. */
const maxDestinations = 200;

export interface DeliveredEvents {
  /** Returns the target, and records what it delivers. */
  watched(destinationId: string, target: EventTarget): EventTarget;
  /** Newest first. */
  of(destinationId: string): readonly Event[];
  drop(destinationId: string): void;
}

export function keepDelivered(): DeliveredEvents {
  const kept = new Lru<string, readonly Event[]>(maxDestinations);
  return {
    watched(id, target) {
      return {
        limits: target.limits,
        async deliver(events, ordered) {
          const left = await target.deliver(events, ordered);
          const missing = new Set(left?.events);
          const taken = events.filter((one) => !missing.has(one));
          kept.set(id, [...taken.toReversed(), ...(kept.get(id) ?? [])].slice(0, most));
          return left;
        },
        close: () => target.close(),
      };
    },
    of: (id) => kept.get(id) ?? [],
    drop: (id) => kept.delete(id),
  };
}
