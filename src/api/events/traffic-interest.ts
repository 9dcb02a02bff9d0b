/** Who wants events of traffic: told to the edges, so that accounts without subscriptions cost them nothing. */
import type { EdgeLine, Edges } from "../edges/edges.ts";
import type { Upward } from "../../routing/planes/messages.ts";
import type { TrafficEventType } from "../../resources/traffic-event-types.ts";
import type { Event } from "./event/event.ts";
import { trafficEvent } from "./event/traffic-event.ts";

export interface TrafficInterest {
  /** Replaces what a destination wants. */
  set(destinationId: string, accountId: string, types: readonly TrafficEventType[]): void;
  /** Tells the edges what has changed. */
  tell(): void;
  /** An edge is there, and knows nothing yet. */
  connected(line: EdgeLine): void;
  wants(accountId: string, type: TrafficEventType): boolean;
  /** For each destination what it is to get, and how many events of its account were dropped. */
  sort(
    message: Pick<Extract<Upward, { type: "traffic" }>, "reports" | "dropped">,
  ): Iterable<readonly [destinationId: string, events: readonly Event[], dropped: number]>;
}

export function openTrafficInterest(edges: Pick<Edges, "joined">): TrafficInterest {
  const byAccount = new Map<string, Map<string, readonly TrafficEventType[]>>();
  /** What each edge was told last, as text. */
  const told = new WeakMap<EdgeLine, string>();

  const tell = (lines: readonly EdgeLine[]): void => {
    const wanted = [...byAccount].map(([accountId, destinations]) => ({
      accountId,
      types: [...new Set([...destinations.values()].flat())].sort(),
    }));
    const text = JSON.stringify(wanted);
    for (const line of lines) {
      if (told.get(line) === text) continue;
      told.set(line, text);
      line.send({ type: "traffic_wanted", wanted });
    }
  };
  return {
    set(destinationId, accountId, types) {
      const destinations = byAccount.get(accountId) ?? new Map<string, readonly TrafficEventType[]>();
      if (types.length > 0) destinations.set(destinationId, types);
      else destinations.delete(destinationId);
      if (destinations.size > 0) byAccount.set(accountId, destinations);
      else byAccount.delete(accountId);
    },
    tell: () => tell(edges.joined()),
    connected(line) {
      told.delete(line);
      tell([line]);
    },
    wants: (accountId, type) =>
      byAccount
        .get(accountId)
        ?.values()
        .some((types) => types.includes(type)) === true,
    *sort({ reports, dropped }) {
      const events = new Map<string, Event[]>();
      for (const report of reports) {
        const { accountId, type } = report;
        const takers = [...(byAccount.get(accountId) ?? [])].filter(([, types]) => types.includes(type));
        if (takers.length === 0) continue;
        const event = trafficEvent(report);
        for (const [id] of takers) {
          const list = events.get(id);
          if (list) list.push(event);
          else events.set(id, [event]);
        }
      }
      const lost = new Map<string, number>();
      for (const [accountId, count] of dropped) {
        for (const id of byAccount.get(accountId)?.keys() ?? []) lost.set(id, count);
      }
      for (const id of new Set([...events.keys(), ...lost.keys()])) yield [id, events.get(id) ?? [], lost.get(id) ?? 0];
    },
  };
}
