/** Metadata that the control plane fetched, on an edge, by login name. */
import type { ResourceObject } from "../../schema/object.ts";
import { metadataKind } from "../sessions/session-records.ts";

export interface FoundMetadata {
  /**
   * Returns a `saml_metadata` document; undefined if it belongs to another address or account, or was not fetched yet.
   */
  of(accountId: string, askedBy: string, url: string): ResourceObject["doc"] | undefined;
  /** Applies stored objects from the control plane: all of them, or changes. */
  load(objects: Iterable<ResourceObject>): void;
  change(
    changes: readonly { readonly kind: string; readonly id: string; readonly object: ResourceObject | null }[],
  ): void;
}

export function makeFoundMetadata(): FoundMetadata {
  const byId = new Map<string, ResourceObject>();
  const byName = new Map<string, ResourceObject>();
  const nameOf = ({ account_id, doc }: ResourceObject): string => `${account_id} ${String(doc["asked_by"])}`;
  const put = (object: ResourceObject): void => {
    byId.set(object.id, object);
    byName.set(nameOf(object), object);
  };
  const drop = (id: string): void => {
    const object = byId.get(id);
    if (!object) return;
    byId.delete(id);
    if (byName.get(nameOf(object)) === object) byName.delete(nameOf(object));
  };
  return {
    of(accountId, askedBy, url) {
      const doc = byName.get(`${accountId} ${askedBy}`)?.doc;
      return doc?.["url"] === url ? doc : undefined;
    },
    load(objects) {
      byId.clear();
      byName.clear();
      for (const object of objects) if (object.kind === metadataKind) put(object);
    },
    change(changes) {
      for (const { kind, id, object } of changes) {
        if (kind !== metadataKind) continue;
        drop(id);
        if (object) put(object);
      }
    },
  };
}
