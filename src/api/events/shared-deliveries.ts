/**
 * Shares the status of deliveries between servers with a common database. Each server publishes its own deliveries as
 * presence entries, so that all servers show the same status. Publishes at most once a second per destination, within
 * limits.
 */
import type { Clock } from "../../lib/clock.ts";
import type { Presence } from "../../storage/cluster/presence.ts";
import type { Event } from "./event/event.ts";

/** Status of a destination, as its `delivery` field shows it. */
export interface DeliveryStatus {
  readonly state: string;
  readonly error: string;
  readonly last_delivered_at: string | null;
  readonly delivered: number;
  readonly dropped: number;
}

/** A delivered event, as it is shown. */
export type SentEvent = Pick<Event, "id" | "type" | "time" | "body">;

/** A server's report about a destination. */
export interface DeliveryEntry {
  readonly what: "delivery";
  readonly destinationId: string;
  readonly status: DeliveryStatus;
  /** Newest first. */
  readonly events: readonly SentEvent[];
}

/** Status and events of one destination. */
export type DeliveryNews = Pick<DeliveryEntry, "status" | "events">;

export interface SharedDeliveries {
  /** Called when a delivery of this server changes. Other servers learn it soon. */
  changed(destinationId: string): void;
  /** Removes a destination to which this server no longer delivers. */
  drop(destinationId: string): void;
  /** Returns the reports of other servers about a destination. */
  others(destinationId: string): readonly DeliveryNews[];
  /** Resolves once everything that other servers have published so far is known, or if it cannot be loaded. */
  refresh(): Promise<void>;
  /** Receives the entry of another server. `entry` undefined removes the entry with that id. */
  heard(id: string, entry: DeliveryEntry | undefined): void;
}

const tellMs = 1_000;
/**
 * Maximum number of destinations that this server publishes. The destination without news for the longest time is
 * evicted.
 */
const maxTold = 200;
const maxEvents = 20;
/** Maximum length of all bodies together, characters. */
const maxLength = 65_536;

/** Returns the newest events that fit into the limits. */
export function takeNewest(events: readonly Event[]): readonly SentEvent[] {
  let length = 0;
  const shown: SentEvent[] = [];
  for (const { id, type, time, body } of events.slice(0, maxEvents)) {
    length += body.length;
    if (length > maxLength) break;
    shown.push({ id, type, time, body });
  }
  return shown;
}

/**
 * @param node of a cluster; undefined without a cluster, where nothing is shared
 * @param newsOf returns what this server knows about a destination
 */
export function shareDeliveries(
  node: { readonly id: string; readonly presence: Presence } | undefined,
  clock: Pick<Clock, "after">,
  newsOf: (destinationId: string) => DeliveryNews,
): SharedDeliveries {
  const due = new Set<string>();
  const reported = new Set<string>();
  const known = new Map<string, DeliveryEntry>();
  const idOf = (destinationId: string): string => `delivery ${destinationId} ${node?.id}`;
  const forget = (destinationId: string): void => {
    if (reported.delete(destinationId)) node?.presence.remove(idOf(destinationId));
  };
  const tell = (destinationId: string): void => {
    if (!due.delete(destinationId)) return;
    reported.delete(destinationId);
    reported.add(destinationId);
    const entry: DeliveryEntry = { what: "delivery", destinationId, ...newsOf(destinationId) };
    node?.presence.put(idOf(destinationId), JSON.stringify(entry));
    const [oldest] = reported;
    if (reported.size > maxTold && oldest !== undefined) forget(oldest);
  };
  return {
    changed(destinationId) {
      if (!node || due.has(destinationId)) return;
      due.add(destinationId);
      clock.after(tellMs, () => tell(destinationId));
    },
    drop(destinationId) {
      due.delete(destinationId);
      forget(destinationId);
    },
    others: (destinationId) => [...known.values()].filter((one) => one.destinationId === destinationId),
    async refresh() {
      await node?.presence.refresh().catch(() => undefined);
    },
    heard(id, entry) {
      if (entry) known.set(id, entry);
      else known.delete(id);
    },
  };
}

/** Combines the reports of several servers about one destination. */
export function joinDeliveries(all: readonly DeliveryNews[], most: number): DeliveryNews {
  const [first, ...rest] = all.map(({ status }) => status);
  const status = rest.reduce((one, other) => joinStatuses(one as DeliveryStatus, other), first as DeliveryStatus);
  const byId = new Map(all.flatMap(({ events }) => events.map((one) => [one.id, one] as const)));
  const newest = [...byId.values()].toSorted((one, other) => keyOf(other).localeCompare(keyOf(one)));
  return { status, events: newest.slice(0, most) };
}

function keyOf({ time, id }: SentEvent): string {
  return `${time} ${id}`;
}

/** The state that most needs attention wins. */
const order: readonly unknown[] = ["idle", "delivering", "retrying", "unsupported"];

function joinStatuses(one: DeliveryStatus, other: DeliveryStatus): DeliveryStatus {
  const worse = order.indexOf(other.state) > order.indexOf(one.state) ? other : one;
  const [, later = null] = [one.last_delivered_at, other.last_delivered_at].toSorted((a, b) =>
    (a ?? "").localeCompare(b ?? ""),
  );
  return {
    state: worse.state,
    error: worse.error || one.error || other.error,
    last_delivered_at: later,
    delivered: one.delivered + other.delivered,
    dropped: one.dropped + other.dropped,
  };
}
