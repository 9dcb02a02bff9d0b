/** Where metadata of identity providers is kept: the last good one of each route, or why there is none. */
import type { Clock } from "../../lib/clock.ts";
import { timestamp } from "../../lib/clock.ts";
import type { IdpMetadata } from "../../identity/saml/metadata/idp-metadata.ts";
import type { MetadataAddress } from "../../identity/saml/metadata/metadata-address.ts";
import { samlMetadata } from "../../resources/saml-metadata.ts";
import { emptyDoc } from "../../schema/doc.ts";
import type { StoredObject, Store } from "../../storage/store.ts";
import { systemWrite } from "../operation/system-write.ts";

/** A route whose provider's metadata has an address of its own. */
export interface MetadataRoute extends MetadataAddress {
  readonly accountId: string;
  readonly routeId: string;
}

export interface MetadataBook {
  /** What of its address was good, if anything was. */
  goodOf(route: MetadataRoute): StoredObject | undefined;
  /** Resolves with whether it is another one than before. */
  keep(route: MetadataRoute, metadata: IdpMetadata, etag: string): Promise<boolean>;
  /** For explanations, and for the trace of requests that are refused for it; what is good stays in use beside it. */
  keepProblem(route: MetadataRoute, problem: string): Promise<void>;
}

export const routeKind = "https_edge_route";
const kind = samlMetadata.name;
const dayMs = 86_400_000;
const keptMs = 7 * dayMs;

/** @param isCurrent whether the route has that address still, at the moment of the write */
export function makeMetadataBook(
  store: Store,
  clock: Clock,
  isCurrent: (route: MetadataRoute) => boolean,
): MetadataBook {
  const presentOf = ({ routeId, url }: MetadataRoute): StoredObject | undefined =>
    store.children(kind, routeId).find(({ doc }) => doc["url"] === url);
  const goodOf = (route: MetadataRoute): StoredObject | undefined => {
    const present = presentOf(route);
    return present?.doc["metadata"] === "" ? undefined : present;
  };
  const write = async (route: MetadataRoute, found: object): Promise<void> => {
    const { routeId, url, accountId } = route;
    const doc = {
      ...emptyDoc(samlMetadata.fields),
      route_id: routeId,
      url,
      fetched_at: timestamp(clock.now()),
      ...found,
    };
    await store.write(systemWrite(accountId, "keepMetadata", clock), (draft) => {
      if (!isCurrent(route) || !draft.get(accountId, routeKind, routeId)) return;
      for (const old of draft.children(kind, routeId)) draft.delete(old);
      draft.create(accountId, kind, doc);
    });
  };
  const keep = async (route: MetadataRoute, metadata: IdpMetadata, etag: string): Promise<boolean> => {
    const present = presentOf(route);
    const text = JSON.stringify(metadata);
    const now = clock.now();
    const isNew = present?.doc["metadata"] !== text;
    const isMended = present !== undefined && present.doc["problem"] !== "";
    const isOld = now - Date.parse(String(present?.doc["fetched_at"])) > dayMs;
    if (!isNew && !isOld && !isMended && present?.doc["etag"] === etag) return false;
    const goodUntil = Math.min(now + keptMs, metadata.validUntilMs ?? Number.POSITIVE_INFINITY);
    await write(route, { entity_id: metadata.entityId, metadata: text, etag, good_until: timestamp(goodUntil) });
    return isNew;
  };
  const keepProblem = async (route: MetadataRoute, problem: string): Promise<void> => {
    const present = presentOf(route);
    if (present?.doc["problem"] === problem) return;
    // When it was last seen stays what it was.
    await write(route, { ...goodOf(route)?.doc, problem });
  };
  return { goodOf, keep, keepProblem };
}
