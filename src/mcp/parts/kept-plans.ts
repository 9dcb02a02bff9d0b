/** Plans that a client may apply by their hash: the last few of each key, for a limited time, at any node. */
import type { Clock } from "../../lib/clock.ts";
import type { JsonObject } from "../../lib/json.ts";

/** The request whose changes were planned: a document, or the return to a revision. */
export type PlannedRequest = { readonly document: JsonObject } | { readonly revision: number };

export interface KeptPlans {
  keep(keyId: string, hash: string, request: PlannedRequest): Promise<void>;
  find(keyId: string, hash: string): Promise<PlannedRequest | undefined>;
}

/** Texts that all nodes read, by their owner and an id. Both methods may reject. */
export interface Notes {
  put(owner: string, id: string, text: string): Promise<void>;
  find(owner: string, id: string): Promise<string | undefined>;
}

/** How long a plan can be applied without sending its document again. */
const keptMs = 900_000;
const maxPerKey = 4;
/** Maximum number of plans of all keys. With documents of at most 1 MiB, this bounds the memory. */
const maxPlans = 32;
/** For the notes of all nodes. */
export const planLimits = { purpose: "mcp plan", keepMs: keptMs, maxPerOwner: maxPerKey, max: 128 } as const;

/** @param notes undefined for a server without other nodes */
export function keepPlans(clock: Pick<Clock, "monotonic">, notes?: Notes): KeptPlans {
  /** Oldest first. */
  let plans: {
    readonly keyId: string;
    readonly hash: string;
    readonly at: number;
    readonly request: PlannedRequest;
  }[] = [];
  const isFresh = ({ at }: { readonly at: number }): boolean => clock.monotonic() - at < keptMs;
  return {
    async keep(keyId, hash, request) {
      plans = plans.filter((one) => isFresh(one) && !(one.keyId === keyId && one.hash === hash));
      const own = plans.filter((one) => one.keyId === keyId);
      const oldest = own.length >= maxPerKey ? own[0] : plans.length >= maxPlans ? plans[0] : undefined;
      plans = plans.filter((one) => one !== oldest);
      plans.push({ keyId, hash, at: clock.monotonic(), request });
      await notes?.put(keyId, hash, JSON.stringify(request));
    },
    async find(keyId, hash) {
      const own = plans.find((one) => one.keyId === keyId && one.hash === hash && isFresh(one));
      if (own) return own.request;
      const text = await notes?.find(keyId, hash);
      return text === undefined ? undefined : (JSON.parse(text) as PlannedRequest);
    },
  };
}
