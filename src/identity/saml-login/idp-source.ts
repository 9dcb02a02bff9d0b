/** What a route knows of its identity provider: read once, in the SAML thread. */
import type { Clock } from "../../lib/clock.ts";
import { LoginRefusal } from "../calls/identity.ts";
import type { IdpMetadata } from "../saml/metadata/idp-metadata.ts";
import { ask } from "./calls.ts";
import type { SamlWorker } from "./calls.ts";

export interface IdpSource {
  /** Undefined until it was read. */
  readonly known: IdpMetadata | undefined;
  /** What an operator should know though it is good. */
  readonly warning?: string | undefined;
  /** Rejects with `LoginRefusal`: `saml_metadata` where it cannot be used. */
  get(): Promise<IdpMetadata>;
}

/** Of a document that the configuration holds. */
export function documentSource(text: string, worker: SamlWorker, clock: Clock): IdpSource {
  let known: IdpMetadata | undefined;
  let refusal: string | undefined;
  let reading: Promise<IdpMetadata> | undefined;
  const read = async (): Promise<IdpMetadata> => {
    const found = await ask(worker, "saml.readIdpMetadata", { text, nowMs: clock.now() });
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
      return stillGood(metadata, clock.now());
    },
  };
}

/** Of what the control plane has last found at the metadata's address, which was good. @param doc of `saml_metadata` */
export function keptSource(doc: Readonly<Record<string, unknown>>, clock: Clock): IdpSource {
  const metadata = JSON.parse(String(doc["metadata"])) as IdpMetadata;
  const goodUntilMs = Date.parse(String(doc["good_until"]));
  const problem = String(doc["problem"]);
  return {
    known: metadata,
    ...(problem !== "" && {
      warning: `its metadata is of ${String(doc["fetched_at"])}, good until ${String(doc["good_until"])}, and was not renewed: ${problem}`,
    }),
    async get() {
      if (clock.now() < goodUntilMs) return stillGood(metadata, clock.now());
      throw new LoginRefusal("saml_metadata", "the metadata was not seen at its address for too long");
    },
  };
}

/** While nothing that is good was found at the address. @param problem why, as far as it is known */
export function missingSource(url: string, problem: string): IdpSource {
  const place = url.replace(/[?#].*/s, "");
  const why = problem === "" ? "it was not looked for yet" : problem;
  return {
    known: undefined,
    get: () => Promise.reject(new LoginRefusal("saml_metadata", `there is no metadata from ${place}: ${why}`)),
  };
}

/** It was good when it was read, and may have ended since. */
export function stillGood(metadata: IdpMetadata, nowMs: number): IdpMetadata {
  const { validUntilMs } = metadata;
  if (validUntilMs === undefined || validUntilMs > nowMs) return metadata;
  throw new LoginRefusal("saml_metadata", `its validUntil has passed: ${new Date(validUntilMs).toISOString()}`);
}
