/** Which destinations get which events: follows the subscriptions, with one delivery per destination in use. */
import { join } from "node:path";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { Doc } from "../../schema/parse.ts";
import type { Cursor, Store, StoredObject } from "../../storage/store.ts";
import { Delivery } from "./delivery.ts";
import type { Assignment, DeliverySurroundings } from "./delivery.ts";
import { eventRenderer } from "./event.ts";
import { appendEvent } from "./file.ts";
import { kindOfEvent } from "./types.ts";
import { isSupported, targetOf } from "./target.ts";
import { postEvent } from "./webhook.ts";
import type { WebhookTarget } from "./webhook.ts";

export interface EventOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  /** Files are written below `events/` in it, in a folder per account. */
  readonly dataDirectory: string;
  /** Base of the URIs in events. */
  readonly baseUrl: () => string;
  readonly allowPrivate: boolean;
  readonly ca?: string;
}

export interface Events {
  /** How delivery to a destination goes. */
  status(destination: StoredObject): Doc;
  readonly allowPrivate: boolean;
  stop(): Promise<void>;
}

const own: ReadonlySet<string> = new Set(["event_destination", "event_subscription"]);
const nothingYet = { state: "idle", error: "", last_delivered_at: null, delivered: 0, dropped: 0 };

/** Goes on where the last run has stopped. */
export async function startEvents(options: EventOptions): Promise<Events> {
  const { store, clock, log } = options;
  const deliveries = new Map<string, Delivery>();
  const cursors = new Map(await store.feed.cursors());
  const surroundings: DeliverySurroundings = {
    store,
    clock,
    log,
    render: (...change) => eventRenderer(options.baseUrl())(...change),
    async send(destination, event) {
      const { name, value } = targetOf(destination.doc);
      if (name === "webhook") return await postEvent(value as unknown as WebhookTarget, event, options);
      const directory = join(options.dataDirectory, "events", destination.account_id);
      return await appendEvent(directory, String(value["name"]), event);
    },
  };

  const settle = (id: string, accountId: string): void => {
    const destination = store.get(accountId, "event_destination", id);
    const assignment = destination && assignmentOf(store, destination);
    const running = deliveries.get(id);
    if (assignment && running) running.assign(assignment);
    else if (assignment) {
      const from = cursors.get(`events ${id}`) ?? firstCursor(store, id);
      deliveries.set(id, new Delivery(surroundings, assignment, from));
    } else if (running) {
      deliveries.delete(id);
      void running.stop(true);
    }
    cursors.delete(`events ${id}`);
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
    if (deliveries.size === 0) return;
    const kinds = new Set(changes.map(({ kind }) => kind));
    for (const delivery of deliveries.values()) if (delivery.isFor(kinds)) delivery.wake();
  });

  return {
    allowPrivate: options.allowPrivate,
    status(destination) {
      const { name } = targetOf(destination.doc);
      if (!isSupported(name)) return { ...nothingYet, state: "unsupported", error: unsupported(name) };
      return deliveries.get(destination.id)?.status ?? nothingYet;
    },
    async stop() {
      await Promise.all([...deliveries.values()].map((delivery) => delivery.stop(false)));
    },
  };
}

function unsupported(name: string): string {
  return `this server does not deliver to ${name}; it delivers to webhook and file`;
}

function subscriptionsOf(store: Store, id: string): StoredObject[] {
  return store.referrers(id).filter(({ kind }) => kind === "event_subscription");
}

/** Undefined when there is nothing to deliver. */
function assignmentOf(store: Store, destination: StoredObject): Assignment | undefined {
  if (!isSupported(targetOf(destination.doc).name)) return undefined;
  const types = new Set(
    subscriptionsOf(store, destination.id).flatMap(({ doc }) =>
      (doc["sources"] as readonly { readonly type: string }[]).map(({ type }) => type),
    ),
  );
  if (types.size === 0) return undefined;
  return { destination, types, kinds: [...new Set([...types].map(kindOfEvent))] };
}

/** What was written after the first of its subscriptions. */
function firstCursor(store: Store, id: string): Cursor {
  const revisions = subscriptionsOf(store, id).map(({ revision }) => revision);
  return { revision: Math.min(...revisions), position: 2 ** 31 - 1 };
}
