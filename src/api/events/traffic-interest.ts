/** Sends edges the accounts and types with traffic subscriptions, so that edges do no work for other accounts. */
import type { EdgeLine, Edges } from "../edges/edges.ts";
import type { Upward } from "../../routing/planes/messages.ts";
import type { TrafficEventType } from "../../resources/traffic-event-types.ts";
import type { Event } from "./event/event.ts";
import { trafficEvent } from "./event/traffic-event.ts";

export interface TrafficInterest {
  /** Replaces the types that a destination subscribes to. */
  set(destinationId: string, accountId: string, types: readonly TrafficEventType[]): void;
  /** Sends changes to the edges. */
  tell(): void;
  /** Called when an edge connects. The edge has no state yet. */
  connected(line: EdgeLine): void;
  wants(accountId: string, type: TrafficEventType): boolean;
  /** Returns the events of each destination, and the number of dropped events of its account. */
  sort(
    message: Pick<Extract<Upward, { type: "traffic" }>, "reports" | "dropped">,
  ): Iterable<readonly [destinationId: string, events: readonly Event[], dropped: number]>;
}

export function openTrafficInterest(edges: Pick<Edges, "joined">): TrafficInterest {
  const byAccount = new Map<string, Map<string, readonly TrafficEventType[]>>();
  /** The text last sent to each edge. */
  const sentTo = new WeakMap<EdgeLine, string>();

  const tell = (lines: readonly EdgeLine[]): void => {
    const wanted = [...byAccount].map(([accountId, destinations]) => ({
      accountId,
      types: [...new Set([...destinations.values()].flat())].sort(),
    }));
    const text = JSON.stringify(wanted);
    for (const line of lines) {
      if (sentTo.get(line) === text) continue;
      sentTo.set(line, text);
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
      sentTo.delete(line);
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
