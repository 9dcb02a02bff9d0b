/**
 * How deliveries go at all servers that share a database: each tells the others of its own, in presence, so that whichever
 * is asked says the same. At most once a second for a destination, and within bounds.
 */
import type { Clock } from "../../lib/clock.ts";
import type { Presence } from "../../storage/cluster/presence.ts";
import type { Event } from "./event/event.ts";

/** As a destination has it in `delivery`. */
export interface DeliveryStatus {
  readonly state: string;
  readonly error: string;
  readonly last_delivered_at: string | null;
  readonly delivered: number;
  readonly dropped: number;
}

/** An event that was delivered, as it is shown. */
export type SentEvent = Pick<Event, "id" | "type" | "time" | "body">;

/** What a server says of a destination. */
export interface DeliveryEntry {
  readonly what: "delivery";
  readonly destinationId: string;
  readonly status: DeliveryStatus;
  /** Newest first. */
  readonly events: readonly SentEvent[];
}

/** What is known of one destination. */
export type DeliveryNews = Pick<DeliveryEntry, "status" | "events">;

export interface SharedDeliveries {
  /** It goes otherwise here than it did: the others are told soon. */
  changed(destinationId: string): void;
  /** Nothing goes there from here any more. */
  drop(destinationId: string): void;
  /** What other servers say of a destination. */
  others(destinationId: string): readonly DeliveryNews[];
  /** Everything that others have told so far is known when it resolves; also when it cannot be asked for. */
  refresh(): Promise<void>;
  /** Of another server: `entry` undefined takes back what was heard under the id. */
  heard(id: string, entry: DeliveryEntry | undefined): void;
}

const tellMs = 1_000;
/** Destinations of which this server tells; those are forgotten that had no news for longest. */
const maxTold = 200;
const maxEvents = 20;
/** Of bodies together, characters. */
const maxLength = 65_536;

/** What is told of events: the newest, as far as there is room. */
export function newestOf(events: readonly Event[]): readonly SentEvent[] {
  let length = 0;
  const shown: SentEvent[] = [];
  for (const { id, type, time, body } of events.slice(0, maxEvents)) {
    length += body.length;
    if (length > maxLength) break;
    shown.push({ id, type, time, body });
  }
  return shown;
}

/** @param node of a cluster; undefined: nobody is told. @param own what this server knows of a destination */
export function shareDeliveries(
  node: { readonly id: string; readonly presence: Presence } | undefined,
  clock: Pick<Clock, "after">,
  own: (destinationId: string) => DeliveryNews,
): SharedDeliveries {
  const due = new Set<string>();
  const told = new Set<string>();
  const known = new Map<string, DeliveryEntry>();
  const idOf = (destinationId: string): string => `delivery ${destinationId} ${node?.id}`;
  const forget = (destinationId: string): void => {
    if (told.delete(destinationId)) node?.presence.remove(idOf(destinationId));
  };
  const tell = (destinationId: string): void => {
    if (!due.delete(destinationId)) return;
    told.delete(destinationId);
    told.add(destinationId);
    const entry: DeliveryEntry = { what: "delivery", destinationId, ...own(destinationId) };
    node?.presence.put(idOf(destinationId), JSON.stringify(entry));
    const [oldest] = told;
    if (told.size > maxTold && oldest !== undefined) forget(oldest);
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

/** What several servers say of one destination, as one. */
export function joinDeliveries(all: readonly DeliveryNews[], most: number): DeliveryNews {
  const [first, ...rest] = all.map(({ status }) => status);
  const status = rest.reduce((one, other) => join(one as DeliveryStatus, other), first as DeliveryStatus);
  const byId = new Map(all.flatMap(({ events }) => events.map((one) => [one.id, one] as const)));
  const newest = [...byId.values()].toSorted((one, other) => keyOf(other).localeCompare(keyOf(one)));
  return { status, events: newest.slice(0, most) };
}

function keyOf({ time, id }: SentEvent): string {
  return `${time} ${id}`;
}

/** What has to be looked at counts. */
const order: readonly unknown[] = ["idle", "delivering", "retrying", "unsupported"];

function join(one: DeliveryStatus, other: DeliveryStatus): DeliveryStatus {
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
