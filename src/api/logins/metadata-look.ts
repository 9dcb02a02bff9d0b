/**
 * Looks at an identity provider's metadata: fetches and reads it, and stores it if it still belongs to the same
 * provider.
 */
import type { Clock } from "../../lib/clock.ts";
import { refreshAfter } from "../../identity/saml/metadata/idp-metadata.ts";
import type { IdpMetadata } from "../../identity/saml/metadata/idp-metadata.ts";
import type { IdentityCalls } from "../../identity/worker/identity-calls.ts";
import type { WorkerClient } from "../../identity/worker/worker-client.ts";
import type { StoredObject } from "../../storage/store.ts";
import type { MetadataBook, MetadataAsker } from "./metadata-book.ts";
import type { MetadataFetch } from "./metadata-fetch.ts";

export interface Looked {
  /** Whether the metadata differs from before. */
  readonly isNew: boolean;
  /** Delay until the next look, milliseconds. */
  readonly againMs: number;
}

export interface LookNeeds {
  readonly clock: Clock;
  readonly book: MetadataBook;
  readonly fetch: MetadataFetch;
  readonly worker: WorkerClient<IdentityCalls>;
}

/** Rejects with the reason if the metadata cannot be used. */
export type MetadataLook = (asker: MetadataAsker) => Promise<Looked>;

export function makeMetadataLook({ clock, book, fetch, worker }: LookNeeds): MetadataLook {
  const expectedOf = async (
    { document }: MetadataAsker,
    present: StoredObject | undefined,
  ): Promise<string | undefined> => {
    if (present) return String(present.doc["entity_id"]);
    const read = await worker.call("saml.readIdpMetadata", { text: document, nowMs: clock.now() });
    return "metadata" in read ? read.metadata.entityId : undefined;
  };
  return async (asker) => {
    const present = book.goodOf(asker);
    const known = present && (JSON.parse(String(present.doc["metadata"])) as IdpMetadata);
    const found = await fetch.get(asker.url, present ? String(present.doc["etag"]) : "");
    if (found === "unchanged" && known) {
      const isNew = await book.keep(asker, known, String(present?.doc["etag"]));
      return { isNew, againMs: refreshAfter(known) * 1000 };
    }
    if (found === "unchanged") throw new Error("it answers 304 to a request without an ETag");
    const read = await worker.call("saml.readIdpMetadata", { text: found.text, nowMs: clock.now() });
    if ("refused" in read) throw new Error(read.refused.reason);
    const { metadata } = read;
    const expected = await expectedOf(asker, present);
    if (expected !== undefined && metadata.entityId !== expected) {
      throw new Error(
        `it is the metadata of ${JSON.stringify(metadata.entityId)} instead of ${JSON.stringify(expected)}: set the module again if the provider has changed`,
      );
    }
    return { isNew: await book.keep(asker, metadata, found.etag), againMs: refreshAfter(metadata) * 1000 };
  };
}
