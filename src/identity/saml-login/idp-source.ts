/** Metadata of a route's identity provider, parsed once in the SAML thread. */
import type { Clock } from "../../lib/clock.ts";
import { LoginRefusal } from "../calls/identity.ts";
import type { IdpMetadata } from "../saml/metadata/idp-metadata.ts";
import { callWorker } from "./saml-worker.ts";
import type { SamlWorker } from "./saml-worker.ts";

export interface IdpSource {
  /** Undefined until the metadata was read. */
  readonly known: IdpMetadata | undefined;
  /** Advice for the operator although the metadata are valid. */
  readonly warning?: string | undefined;
  /** Rejects with a `LoginRefusal`: `saml_metadata` if the metadata cannot be used. */
  get(): Promise<IdpMetadata>;
}

/** Metadata from a document in the configuration. */
export function documentSource(text: string, worker: SamlWorker, clock: Clock): IdpSource {
  let known: IdpMetadata | undefined;
  let refusal: string | undefined;
  let reading: Promise<IdpMetadata> | undefined;
  const read = async (): Promise<IdpMetadata> => {
    const found = await callWorker(worker, "saml.readIdpMetadata", { text, nowMs: clock.now() });
    if ("metadata" in found) return (known = found.metadata);
    refusal = found.refused.reason;
    throw new LoginRefusal("saml_metadata", refusal);
  };
  return {
    get known() {
      return known;
    },
    async get() {
      if (refusal !== undefined) throw new LoginRefusal("saml_metadata", refusal);
      const metadata = known ?? (await (reading ??= read().finally(() => (reading = undefined))));
      return requireUnexpired(metadata, clock.now());
    },
  };
}

export interface AddressSourceNeeds {
  readonly url: string;
  /** The control plane's last result, a `saml_metadata` document. */
  kept(): MetadataDoc | undefined;
  /** The configured document, used until the address yields valid metadata. */
  readonly document: IdpSource | undefined;
  /** Asks the control plane to fetch the address; undefined if a route does that by its existence. */
  readonly ask: (() => Promise<unknown>) | undefined;
  readonly clock: Clock;
}

type MetadataDoc = Readonly<Record<string, unknown>>;

/** The control plane forgets addresses that were not requested for a week, milliseconds. */
const askedAgainMs = 12 * 3_600_000;
/** Interval while there is no metadata. */
const missingAgainMs = 60_000;

/** Metadata from an address that the control plane fetches. */
export function addressSource({ url, kept, document, ask, clock }: AddressSourceNeeds): IdpSource {
  let read: { readonly doc: MetadataDoc; readonly metadata: IdpMetadata; readonly goodUntilMs: number } | undefined;
  let askedAt = Number.NEGATIVE_INFINITY;
  let asking: Promise<unknown> | undefined;
  const good = (): typeof read => {
    const doc = kept();
    if (!doc || doc["metadata"] === "") return undefined;
    if (read?.doc !== doc) {
      const metadata = JSON.parse(String(doc["metadata"])) as IdpMetadata;
      read = { doc, metadata, goodUntilMs: Date.parse(String(doc["good_until"])) };
    }
    return read;
  };
  const isForgotten = (): boolean => {
    const doc = kept();
    const isOld = !doc || clock.now() - Date.parse(String(doc["asked_at"])) > askedAgainMs;
    return isOld && clock.monotonic() - askedAt > missingAgainMs;
  };
  return {
    get known() {
      return good()?.metadata ?? document?.known;
    },
    get warning() {
      const { doc } = good() ?? {};
      const problem = problemOf(doc);
      if (!doc || problem === "") return undefined;
      return `its metadata from ${String(doc["fetched_at"])}, valid until ${String(doc["good_until"])}, was not renewed: ${problem}`;
    },
    async get() {
      if (ask && isForgotten()) {
        askedAt = clock.monotonic();
        asking = ask().finally(() => (asking = undefined));
      }
      if (!good() && !document) await asking;
      const found = good();
      if (found && clock.now() < found.goodUntilMs) return requireUnexpired(found.metadata, clock.now());
      if (found) throw new LoginRefusal("saml_metadata", "the metadata was not available at its URL for too long");
      if (document) return await document.get();
      const why = problemOf(kept()) || "the metadata was not fetched yet";
      throw new LoginRefusal("saml_metadata", `there is no metadata from ${url.replace(/[?#].*/s, "")}: ${why}`);
    },
  };
}

function problemOf(doc: MetadataDoc | undefined): string {
  return doc ? String(doc["problem"]) : "";
}

/** The metadata were valid when read, and may have expired since. */
export function requireUnexpired(metadata: IdpMetadata, nowMs: number): IdpMetadata {
  const { validUntilMs } = metadata;
  if (validUntilMs === undefined || validUntilMs > nowMs) return metadata;
  throw new LoginRefusal("saml_metadata", `its validUntil has passed: ${new Date(validUntilMs).toISOString()}`);
}
