/** Plans that a client may apply by their hash: the last few of each key, for a limited time. */
import type { Clock } from "../../lib/clock.ts";
import type { JsonObject } from "../../lib/json.ts";

/** The request whose changes were planned: a document, or the return to a revision. */
export type PlannedRequest = { readonly document: JsonObject } | { readonly revision: number };

export interface KeptPlans {
  keep(keyId: string, hash: string, request: PlannedRequest): void;
  find(keyId: string, hash: string): PlannedRequest | undefined;
}

/** How long a plan can be applied without sending its document again. */
const keptMs = 900_000;
const maxPerKey = 4;
/** Maximum number of plans of all keys. With documents of at most 1 MiB, this bounds the memory. */
const maxPlans = 32;

export function keepPlans(clock: Pick<Clock, "monotonic">): KeptPlans {
  /** Oldest first. */
  let plans: {
    readonly keyId: string;
    readonly hash: string;
    readonly at: number;
    readonly request: PlannedRequest;
  }[] = [];
  const isFresh = ({ at }: { readonly at: number }): boolean => clock.monotonic() - at < keptMs;
  return {
    keep(keyId, hash, request) {
      plans = plans.filter((one) => isFresh(one) && !(one.keyId === keyId && one.hash === hash));
      const own = plans.filter((one) => one.keyId === keyId);
      const oldest = own.length >= maxPerKey ? own[0] : plans.length >= maxPlans ? plans[0] : undefined;
      plans = plans.filter((one) => one !== oldest);
      plans.push({ keyId, hash, at: clock.monotonic(), request });
    },
    find: (keyId, hash) => plans.find((one) => one.keyId === keyId && one.hash === hash && isFresh(one))?.request,
  };
}
