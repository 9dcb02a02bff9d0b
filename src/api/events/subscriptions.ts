/** Finds which events the subscriptions of a destination select. */
import { eventDestination } from "../../resources/event-destination.ts";
import { eventSubscription } from "../../resources/event-subscription.ts";
import { docOf } from "../../schema/doc.ts";
import type { Cursor, Store, StoredObject } from "../../storage/store.ts";
import { lastPosition } from "./change-queue.ts";
import { explainUnavailability } from "./open-target.ts";
import type { OperatorKeys } from "./targets/operator-keys.ts";

/**
 * Returns the ids of the destinations whose deliveries a change of the object may affect. Empty for objects of other
 * kinds.
 */
export function destinationIdsOf(object: StoredObject): readonly string[] {
  if (object.kind === eventDestination.name) return [object.id];
  return object.kind === eventSubscription.name ? docOf(object, eventSubscription).destination_ids : [];
}

function subscriptionsOf(store: Store, id: string): StoredObject[] {
  return store.referrers(id).filter(({ kind }) => kind === eventSubscription.name);
}

/** Returns the types to deliver. Undefined if there is nothing to deliver. */
export function typesFor(
  store: Store,
  destination: StoredObject,
  aws: OperatorKeys | undefined,
): ReadonlySet<string> | undefined {
  if (explainUnavailability(docOf(destination, eventDestination), aws) !== undefined) return undefined;
  const sources = subscriptionsOf(store, destination.id).flatMap(
    (subscription) => docOf(subscription, eventSubscription).sources,
  );
  return sources.length === 0 ? undefined : new Set(sources.map(({ type }) => type));
}

/** Returns the position after the revision of the destination's first subscription. */
export function firstCursor(store: Store, id: string): Cursor {
  const revisions = subscriptionsOf(store, id).map(({ revision }) => revision);
  return { revision: Math.min(...revisions), position: lastPosition };
}
