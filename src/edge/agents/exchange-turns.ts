import { Refusal } from "../../lib/errors.ts";
import type { AgentLimits } from "./tunnels/limits.ts";

export interface ExchangeTurns {
  /** What `ask` resolves with. Rejects with `Refusal` (exchange_busy) without asking where too many are under way. */
  take<T>(accountId: string, ask: () => Promise<T>): Promise<T>;
}

/** Bounds what answers about requests that agents have kept may hold at an edge: each is up to a MiB (G1, D9). */
export function makeExchangeTurns({
  exchanges,
  exchangesPerAccount,
}: Pick<AgentLimits, "exchanges" | "exchangesPerAccount">): ExchangeTurns {
  const underWay = new Map<string, number>();
  let all = 0;
  return {
    async take(accountId, ask) {
      const own = underWay.get(accountId) ?? 0;
      if (own >= exchangesPerAccount || all >= exchanges) throw new Refusal("exchange_busy");
      underWay.set(accountId, own + 1);
      all += 1;
      try {
        return await ask();
      } finally {
        all -= 1;
        const left = (underWay.get(accountId) ?? 1) - 1;
        if (left > 0) underWay.set(accountId, left);
        else underWay.delete(accountId);
      }
    },
  };
}
