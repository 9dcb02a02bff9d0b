/** What the subscriptions of a destination want of it. */
import { eventDestination } from "../../resources/event-destination.ts";
import { eventSubscription } from "../../resources/event-subscription.ts";
import { docOf } from "../../schema/doc.ts";
import type { Cursor, Store, StoredObject } from "../../storage/store.ts";
import { lastPosition } from "./change-queue.ts";
import { unavailability } from "./targets.ts";
import type { OperatorKeys } from "./targets/operator-keys.ts";

/** Ids of the destinations whose deliveries a change of the object may change; none for objects of other kinds. */
export function destinationIdsOf(object: StoredObject): readonly string[] {
  if (object.kind === eventDestination.name) return [object.id];
  return object.kind === eventSubscription.name ? docOf(object, eventSubscription).destination_ids : [];
}

function subscriptionsOf(store: Store, id: string): StoredObject[] {
  return store.referrers(id).filter(({ kind }) => kind === eventSubscription.name);
}

/** Undefined when there is nothing to deliver. */
export function typesFor(
  store: Store,
  destination: StoredObject,
  aws: OperatorKeys | undefined,
): ReadonlySet<string> | undefined {
  if (unavailability(docOf(destination, eventDestination), aws) !== undefined) return undefined;
  const sources = subscriptionsOf(store, destination.id).flatMap(
    (subscription) => docOf(subscription, eventSubscription).sources,
  );
  return sources.length === 0 ? undefined : new Set(sources.map(({ type }) => type));
}

/** What was written after the first of its subscriptions. */
export function firstCursor(store: Store, id: string): Cursor {
  const revisions = subscriptionsOf(store, id).map(({ revision }) => revision);
  return { revision: Math.min(...revisions), position: lastPosition };
}
