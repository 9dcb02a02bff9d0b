import { Refusal } from "../../lib/errors.ts";

export interface Shares {
  /** @throws Refusal `work_limit` if the key already has its maximum number of parallel calls of this kind */
  take<T>(keyId: string, work: () => T | Promise<T>): Promise<T>;
}

/** Limits parallel long calls per key, so that one key does not block the API for others. */
export function makeShares(maxPerKey: number): Shares {
  const underWay = new Map<string, number>();
  return {
    async take(keyId, work) {
      const count = underWay.get(keyId) ?? 0;
      if (count >= maxPerKey) {
        throw new Refusal("work_limit", `${maxPerKey} long requests of this API key are already running`);
      }
      underWay.set(keyId, count + 1);
      try {
        return await work();
      } finally {
        const left = (underWay.get(keyId) ?? 1) - 1;
        if (left === 0) underWay.delete(keyId);
        else underWay.set(keyId, left);
      }
    },
  };
}
