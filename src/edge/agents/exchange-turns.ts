import { Refusal } from "../../lib/errors.ts";
import type { AgentLimits } from "./tunnels/agent-limits.ts";

export interface ExchangeTurns {
  /**
   * Resolves with the result of `ask`. Rejects with `Refusal` (exchange_busy) without calling it if too many questions
   * are pending.
   */
  take<T>(accountId: string, ask: () => Promise<T>): Promise<T>;
}

/** Limits the memory of answers about requests that agents have captured, each up to 1 MiB (G1, D9). */
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
