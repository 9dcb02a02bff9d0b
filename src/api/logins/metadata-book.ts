/** Stores the metadata of identity providers: the last usable version of each login, or the reason for its absence. */
import type { Clock } from "../../lib/clock.ts";
import { formatTimestamp } from "../../lib/clock.ts";
import type { IdpMetadata } from "../../identity/saml/metadata/idp-metadata.ts";
import type { MetadataAddress } from "../../identity/saml/metadata/metadata-address.ts";
import { metadataSpace, samlMetadata } from "../../resources/saml-metadata.ts";
import { emptyDoc } from "../../schema/doc.ts";
import type { Draft, StoredObject, Store } from "../../storage/store.ts";
import { systemWrite } from "../operation/system-write.ts";
import { dayMs } from "../../lib/durations.ts";

/** A login whose provider's metadata has an address. */
export interface MetadataAsker extends MetadataAddress {
  readonly accountId: string;
  /** The route, or the edge's name for the login of a rule or an agent. */
  readonly askedBy: string;
  /**
   * When an edge last requested the metadata, milliseconds since 1970. Undefined for routes, which need it as long as
   * they exist.
   */
  readonly askedAt: number | undefined;
}

export interface MetadataBook {
  /** Returns the usable metadata from the asker's address, if any. */
  goodOf(asker: MetadataAsker): StoredObject | undefined;
  /** Resolves with whether the metadata differs from before. */
  keep(asker: MetadataAsker, metadata: IdpMetadata, etag: string): Promise<boolean>;
  /** Stores a problem for explanations and for the trace of requests that it denies. Usable metadata stays in use. */
  keepProblem(asker: MetadataAsker, problem: string): Promise<void>;
  /** Records that an edge still requests the metadata. */
  keepAsked(asker: MetadataAsker): Promise<void>;
  forget(accountId: string, askedBy: string): Promise<void>;
}

export const routeKind = "https_edge_route";
export const metadataKind = samlMetadata.name;
/** Maximum clock difference between nodes. */
const clockErrorMs = 5 * 60_000;
const keptMs = 7 * dayMs;

/** Returns the asker of stored metadata. Undefined for a route, which registers its own asker. */
export function askerOf({ account_id, doc }: StoredObject): MetadataAsker | undefined {
  const askedAt = Date.parse(String(doc["asked_at"]));
  if (!(askedAt > 0)) return undefined;
  const text = (name: string): string => String(doc[name]);
  return { accountId: account_id, askedBy: text("asked_by"), url: text("url"), document: text("document"), askedAt };
}

/** @param isCurrent whether the asker still has that address at the time of the write */
export function makeMetadataBook(
  store: Store,
  clock: Clock,
  isCurrent: (asker: MetadataAsker) => boolean,
): MetadataBook {
  const presentOf = ({ accountId, askedBy, url }: MetadataAsker): StoredObject | undefined => {
    const present = store.holder(accountId, metadataSpace, askedBy);
    return present?.doc["url"] === url ? present : undefined;
  };
  const goodOf = (asker: MetadataAsker): StoredObject | undefined => {
    const present = presentOf(asker);
    return present?.doc["metadata"] === "" ? undefined : present;
  };
  const isThere = (draft: Draft, { accountId, askedBy, askedAt }: MetadataAsker): boolean =>
    askedAt !== undefined || draft.get(accountId, routeKind, askedBy) !== undefined;
  const write = async (asker: MetadataAsker, found: object): Promise<void> => {
    const { accountId, askedBy, askedAt, url, document } = asker;
    const doc = {
      ...emptyDoc(samlMetadata.fields),
      asked_by: askedBy,
      ...(askedAt !== undefined && { asked_at: formatTimestamp(askedAt), document }),
      url,
      fetched_at: formatTimestamp(clock.now()),
      ...found,
    };
    await store.write(systemWrite(accountId, "keepMetadata", clock), (draft) => {
      if (!isCurrent(asker) || !isThere(draft, asker)) return;
      const old = draft.holder(accountId, metadataSpace, askedBy);
      if (old) draft.replace(old, doc);
      else draft.create(accountId, metadataKind, doc);
    });
  };
  const keep = async (asker: MetadataAsker, metadata: IdpMetadata, etag: string): Promise<boolean> => {
    const present = presentOf(asker);
    const text = JSON.stringify(metadata);
    const now = clock.now();
    const isNew = present?.doc["metadata"] !== text;
    const isMended = present !== undefined && present.doc["problem"] !== "";
    // If a clock was ahead, the date is in the future and the metadata would stay usable for too long.
    const ageMs = now - Date.parse(String(present?.doc["fetched_at"]));
    const isOld = ageMs > dayMs || ageMs < -clockErrorMs;
    if (!isNew && !isOld && !isMended && present?.doc["etag"] === etag) return false;
    const goodUntil = Math.min(now + keptMs, metadata.validUntilMs ?? Number.POSITIVE_INFINITY);
    await write(asker, { entity_id: metadata.entityId, metadata: text, etag, good_until: formatTimestamp(goodUntil) });
    return isNew;
  };
  const keepProblem = async (asker: MetadataAsker, problem: string): Promise<void> => {
    const present = presentOf(asker);
    if (present?.doc["problem"] === problem) return;
    // The time of the last fetch does not change.
    await write(asker, { ...goodOf(asker)?.doc, problem });
  };
  return {
    goodOf,
    keep,
    keepProblem,
    async keepAsked(asker) {
      const present = presentOf(asker);
      if (present && asker.askedAt !== undefined) {
        await write(asker, { ...present.doc, asked_at: formatTimestamp(asker.askedAt) });
      }
    },
    async forget(accountId, askedBy) {
      await store.write(systemWrite(accountId, "forgetMetadata", clock), (draft) => {
        const old = draft.holder(accountId, metadataSpace, askedBy);
        if (old) draft.delete(old);
      });
    },
  };
}
