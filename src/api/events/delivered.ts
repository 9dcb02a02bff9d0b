/** The last events that were delivered, for whoever wants to see some pass; in memory, and of this server alone: `shared-deliveries.ts` tells others. */
import { Lru } from "../../lib/collections/lru.ts";
import type { Event } from "./event/event.ts";
import type { Target } from "./targets/target.ts";

/** Of each destination. */
const most = 100;
/** Destinations that events are kept of; those are forgotten that got none for longest. */
const maxDestinations = 200;

export interface DeliveredEvents {
  /** The target, watched. */
  watched(destinationId: string, target: Target): Target;
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
