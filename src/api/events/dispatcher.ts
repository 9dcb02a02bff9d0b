/** Dispatches events to destinations by their subscriptions, with one delivery per destination in use. */
import { runUnattended } from "../../lib/boundary.ts";
import type { TellLogin } from "../../identity/sessions/login-events.ts";
import type { Log } from "../../lib/log.ts";
import type { Metrics } from "../../lib/metrics.ts";
import type { SpanRecorder } from "../../lib/span-recorder.ts";
import { eventDestination } from "../../resources/event-destination.ts";
import { docOf } from "../../schema/doc.ts";
import type { Doc, DocOf } from "../../schema/doc.ts";
import type { InboxEvent } from "../../routing/planes/traffic.ts";
import type { Commit, Store, StoredObject } from "../../storage/store.ts";
import type { EdgeObserver, Edges } from "../edges/edges.ts";
import { ChangeQueue } from "./change-queue.ts";
import { makeEventCounters } from "./event-counters.ts";
import { keepDelivered } from "./delivered.ts";
import { Delivery } from "./target-delivery.ts";
import { eventRenderer } from "./event/event.ts";
import type { RenderEvent } from "./event/event.ts";
import { trafficTypesOf } from "./event/event-types.ts";
import { makeTargetOpener } from "./open-targets.ts";
import type { OpenTargetsOptions } from "./open-targets.ts";
import { joinDeliveries, takeNewest, shareDeliveries } from "./shared-deliveries.ts";
import type { DeliveryNews, SentEvent, SharedDeliveries } from "./shared-deliveries.ts";
import { destinationIdsOf, firstCursor, typesFor } from "./subscriptions.ts";
import { explainUnavailability } from "./open-target.ts";
import { openTrafficInterest } from "./traffic-interest.ts";
import { TrafficQueue } from "./traffic-queue.ts";

export interface EventOptions extends OpenTargetsOptions {
  readonly store: Store;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly recorder?: SpanRecorder | undefined;
  /** Base of the URIs in events. */
  readonly baseUrl: () => string;
  readonly edges: Pick<Edges, "joined">;
}

export interface Events extends EdgeObserver {
  /** Returns the delivery status of a destination. */
  status(destination: StoredObject): Doc;
  /** Why this server cannot deliver to a destination. Undefined if it can. */
  unavailability(doc: DocOf<typeof eventDestination>): string | undefined;
  /** Returns the events last sent to a destination, newest first. */
  delivered(destinationId: string): Promise<readonly SentEvent[]>;
  /** Receives another server's report about a destination. */
  readonly heard: SharedDeliveries["heard"];
  readonly allowPrivate: boolean;
  /** Sends an event about a login that the control plane itself has ended, in the way that edges' reports take. */
  readonly tellLogin: TellLogin;
  /** Sends an event about an inbox, in the same way. */
  tellInbox(event: InboxEvent): void;
  stop(): Promise<void>;
}

/** The queues and the delivery of one destination. */
interface DestinationLane {
  readonly delivery: Delivery;
  readonly changes: ChangeQueue;
  readonly traffic: TrafficQueue;
  destination: StoredObject;
}

/** Maximum number of events shown per destination. */
const maxShown = 100;
const nothingYet = { state: "idle", error: "", last_delivered_at: null, delivered: 0, dropped: 0 };

function wakeThoseFor(changes: Commit["changes"], lanes: Iterable<DestinationLane>): void {
  const kinds = new Set(changes.map(({ kind }) => kind));
  for (const lane of lanes) if (lane.changes.isFor(kinds)) lane.delivery.wake();
}

async function stopLane({ delivery, changes }: DestinationLane): Promise<void> {
  await delivery.stop();
  changes.close(false);
}

/** Returns id → account of each destination that the changes affect, directly or through its subscriptions. */
function destinationsIn(changes: Commit["changes"]): Map<string, string> {
  const found = new Map<string, string>();
  for (const { before, after } of changes) {
    for (const object of [before, after]) {
      for (const id of object ? destinationIdsOf(object) : []) found.set(id, object?.account_id ?? "");
    }
  }
  return found;
}

/** Resumes where the last run stopped. */
export async function startEvents(options: EventOptions): Promise<Events> {
  const { store, clock, log, allowPrivate, aws } = options;
  const lanes = new Map<string, DestinationLane>();
  const cursors = new Map(await store.feed.cursors());
  const counters = makeEventCounters(options.metrics);
  const targets = makeTargetOpener(options);
  const delivered = keepDelivered();
  const open = (destination: StoredObject) => delivered.watched(destination.id, targets.open(destination));
  const ownNews = (id: string): DeliveryNews => ({
    status: lanes.get(id)?.delivery.status ?? nothingYet,
    events: delivered.of(id),
  });
  const shared = shareDeliveries(store.node, clock, (id) => ({ ...ownNews(id), events: takeNewest(delivered.of(id)) }));
  const everywhere = (id: string): DeliveryNews => joinDeliveries([ownNews(id), ...shared.others(id)], maxShown);
  const interest = openTrafficInterest(options.edges);
  const render: RenderEvent = (...change) => eventRenderer(options.baseUrl())(...change);

  const start = (destination: StoredObject, types: ReadonlySet<string>): DestinationLane => {
    const { id, account_id: accountId } = destination;
    const name = `events ${id}`;
    const from = cursors.get(name) ?? firstCursor(store, id);
    const job = store.jobs.want(name, () => lanes.get(id)?.delivery.wake());
    const changes = new ChangeQueue({ store, clock, render, accountId, name, from, types, job });
    const traffic = new TrafficQueue((count) => delivery.lost(count));
    const environment = { store, log, clock, counters, recorder: options.recorder, changed: () => shared.changed(id) };
    const delivery = new Delivery(environment, id, open(destination), [changes, traffic]);
    return { delivery, changes, traffic, destination };
  };
  /** Starts, changes or ends the delivery to a destination, according to its current state and subscriptions. */
  const settle = (id: string, accountId: string): void => {
    const destination = store.get(accountId, eventDestination.name, id);
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
      delivered.drop(id);
      shared.drop(id);
      // Close immediately: a successor may store its own position before the last delivery ends.
      lane.changes.close(true);
      runUnattended("task", lane.delivery.stop());
    }
    cursors.delete(`events ${id}`);
    interest.set(id, accountId, types ? trafficTypesOf(types) : []);
  };
  const follow = ({ changes }: Commit): void => {
    const stale = destinationsIn(changes);
    for (const [id, accountId] of stale) settle(id, accountId);
    if (stale.size > 0) interest.tell();
    if (lanes.size > 0) wakeThoseFor(changes, lanes.values());
  };

  const take = (traffic: Parameters<typeof interest.sort>[0]): void => {
    for (const [id, events, dropped] of interest.sort(traffic)) {
      const lane = lanes.get(id);
      if (!lane) continue;
      if (dropped > 0) lane.delivery.lost(dropped);
      lane.traffic.put(events);
      lane.delivery.wake();
    }
  };

  for (const { id, account_id } of store.objects(new Set([eventDestination.name]))) settle(id, account_id);
  store.subscribe(follow);
  return {
    allowPrivate,
    status(destination) {
      const why = explainUnavailability(docOf(destination, eventDestination), aws);
      if (why !== undefined) return { ...nothingYet, state: "unsupported", error: why };
      return { ...everywhere(destination.id).status };
    },
    async delivered(id) {
      await shared.refresh();
      return everywhere(id).events;
    },
    heard: shared.heard,
    unavailability: (doc) => explainUnavailability(doc, aws),
    receive(message, line) {
      if (message.type === "hello") interest.connected(line);
      if (message.type !== "traffic") return;
      take(message);
      line.send({ type: "traffic_taken", batch: message.batch });
    },
    tellLogin(type, accountId, make) {
      if (!interest.wants(accountId, type)) return;
      take({ reports: [{ type, accountId, at: clock.now(), ...make() }], dropped: [] });
    },
    tellInbox(event) {
      if (interest.wants(event.accountId, event.type)) take({ reports: [event], dropped: [] });
    },
    stop: () => Promise.all(Array.from(lanes.values(), stopLane)).then(() => targets.close()),
  };
}
