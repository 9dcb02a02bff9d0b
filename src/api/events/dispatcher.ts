/** Which destinations get which events: follows the subscriptions, with one delivery per destination in use. */
import { join } from "node:path";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { Metrics } from "../../lib/metrics.ts";
import type { EdgeObserver, Edges } from "../edges/edges.ts";
import type { ControlPlaneSettings } from "../../settings/control-plane.ts";
import type { Doc } from "../../schema/doc.ts";
import type { Cursor, Store, StoredObject } from "../../storage/store.ts";
import { ChangeQueue, lastPosition } from "./change-queue.ts";
import { Delivery } from "./delivery.ts";
import { eventRenderer } from "./event/event.ts";
import type { Event } from "./event/event.ts";
import { openOutbound } from "../../outbound/client.ts";
import { openTarget, unavailability } from "./targets.ts";
import { operatorKeys } from "./targets/aws/operator-keys.ts";
import type { OperatorKeys } from "./targets/aws/operator-keys.ts";
import type { Target } from "./targets/target.ts";
import { openTrafficInterest } from "./traffic-interest.ts";
import { TrafficQueue } from "./traffic-queue.ts";
import { trafficTypesOf } from "./event/types.ts";

export interface EventOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Files are written below `events/` in the data directory, in a folder per account. */
  readonly settings: ControlPlaneSettings;
  /** Base of the URIs in events. */
  readonly baseUrl: () => string;
  readonly ca?: string | undefined;
  readonly edges: Pick<Edges, "joined">;
}

export interface Events extends EdgeObserver {
  /** How delivery to a destination goes. */
  status(destination: StoredObject): Doc;
  /** Why this server cannot deliver to such a destination; undefined when it can. */
  unavailability(doc: Doc): string | undefined;
  readonly allowPrivate: boolean;
  stop(): Promise<void>;
}

interface Lane {
  readonly delivery: Delivery;
  readonly changes: ChangeQueue;
  readonly traffic: TrafficQueue;
  destination: StoredObject;
}

const own: ReadonlySet<string> = new Set(["event_destination", "event_subscription"]);
const nothingYet = { state: "idle", error: "", last_delivered_at: null, delivered: 0, dropped: 0 };

/** Goes on where the last run has stopped. */
export async function startEvents(options: EventOptions): Promise<Events> {
  const { store, clock, log, settings, ca } = options;
  const allowPrivate = settings.allowLocalUpstreams;
  const aws = operatorKeys(settings);
  const lanes = new Map<string, Lane>();
  const cursors = new Map(await store.feed.cursors());
  const counters = { delivered: 0, dropped: 0, failures: 0 };
  exportCounters(counters, options.metrics);
  const outbound = { purpose: "events", clock, ca, reach: allowPrivate ? "any" : "public" } as const;
  const operatorOutbound = openOutbound({
    ...outbound,
    ...(!allowPrivate && aws?.stsEndpoint !== undefined && { reach: "any_https" }),
  });
  const interest = openTrafficInterest(options.edges);

  const open = ({ id, account_id, doc }: StoredObject): Target =>
    openTarget(doc, {
      destinationId: id,
      accountId: account_id,
      outbound: openOutbound(outbound),
      operatorOutbound,
      aws,
      directory: join(settings.data, "events", account_id),
    });
  const start = (destination: StoredObject, types: ReadonlySet<string>): Lane => {
    const { id, account_id: accountId } = destination;
    const name = `events ${id}`;
    const from = cursors.get(name) ?? firstCursor(store, id);
    const render = (...change: Parameters<ReturnType<typeof eventRenderer>>): Event =>
      eventRenderer(options.baseUrl())(...change);
    const changes = new ChangeQueue({ store, clock, render, accountId, name, from, types });
    const traffic = new TrafficQueue((count) => delivery.lost(count));
    const delivery = new Delivery({ clock, log, counters }, id, open(destination), [changes, traffic]);
    return { delivery, changes, traffic, destination };
  };
  const settle = (id: string, accountId: string): void => {
    const destination = store.get(accountId, "event_destination", id);
    const types = destination && typesFor(store, destination, aws);
    const lane = lanes.get(id);
    if (destination && types && !lane) lanes.set(id, start(destination, types));
    else if (destination && types && lane) {
      lane.changes.assign(types);
      if (lane.destination.revision !== destination.revision) lane.delivery.retarget(open(destination));
      lane.destination = destination;
      lane.delivery.wake();
    } else if (lane) {
      lanes.delete(id);
      // At once: its successor may keep a place of its own before the last attempt ends.
      lane.changes.close(true);
      void lane.delivery.stop();
    }
    cursors.delete(`events ${id}`);
    interest.set(id, accountId, types ? trafficTypesOf(types) : []);
  };

  for (const { id, account_id } of store.objects(new Set(["event_destination"]))) settle(id, account_id);
  store.subscribe(({ changes }) => {
    const stale = new Map<string, string>();
    for (const { kind, before, after } of changes) {
      if (!own.has(kind)) continue;
      for (const object of [before, after]) {
        if (!object) continue;
        const ids = kind === "event_destination" ? [object.id] : (object.doc["destination_ids"] as readonly string[]);
        for (const id of ids) stale.set(id, object.account_id);
      }
    }
    for (const [id, accountId] of stale) settle(id, accountId);
    if (stale.size > 0) interest.tell();
    if (lanes.size === 0) return;
    const kinds = new Set(changes.map(({ kind }) => kind));
    for (const lane of lanes.values()) if (lane.changes.isFor(kinds)) lane.delivery.wake();
  });

  return {
    allowPrivate,
    status({ id, doc }) {
      const why = unavailability(doc, aws);
      if (why !== undefined) return { ...nothingYet, state: "unsupported", error: why };
      return lanes.get(id)?.delivery.status ?? nothingYet;
    },
    unavailability: (doc) => unavailability(doc, aws),
    receive(message, line) {
      if (message.type === "hello") interest.connected(line);
      if (message.type !== "traffic") return;
      for (const [id, events, dropped] of interest.sort(message)) {
        const lane = lanes.get(id);
        if (!lane) continue;
        if (dropped > 0) lane.delivery.lost(dropped);
        lane.traffic.put(events);
        lane.delivery.wake();
      }
      line.send({ type: "traffic_taken", batch: message.batch });
    },
    async stop() {
      const stopping = [...lanes.values()].map(async ({ delivery, changes }) => {
        await delivery.stop();
        changes.close(false);
      });
      await Promise.all(stopping);
      operatorOutbound.close();
    },
  };
}

function subscriptionsOf(store: Store, id: string): StoredObject[] {
  return store.referrers(id).filter(({ kind }) => kind === "event_subscription");
}

/** Undefined when there is nothing to deliver. */
function typesFor(
  store: Store,
  { id, doc }: StoredObject,
  aws: OperatorKeys | undefined,
): ReadonlySet<string> | undefined {
  if (unavailability(doc, aws) !== undefined) return undefined;
  const sources = subscriptionsOf(store, id).flatMap(
    (subscription) => subscription.doc["sources"] as readonly { readonly type: string }[],
  );
  return sources.length === 0 ? undefined : new Set(sources.map(({ type }) => type));
}

/** What was written after the first of its subscriptions. */
function firstCursor(store: Store, id: string): Cursor {
  const revisions = subscriptionsOf(store, id).map(({ revision }) => revision);
  return { revision: Math.min(...revisions), position: lastPosition };
}

function exportCounters(
  counters: { readonly delivered: number; readonly dropped: number; readonly failures: number },
  metrics: Metrics,
): void {
  metrics.counterOf("postern_events_delivered_total", "Events delivered.", () => counters.delivered);
  metrics.counterOf(
    "postern_events_dropped_total",
    "Events given up: after a day, or because too many waited; also those that an edge dropped.",
    () => counters.dropped,
  );
  metrics.counterOf("postern_event_failures_total", "Attempts to deliver events that failed.", () => counters.failures);
}
