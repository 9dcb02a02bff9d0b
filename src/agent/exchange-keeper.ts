import type { ExchangeCommand } from "../routing/planes/messages.ts";

export type { ExchangeCommand };

/** Captured requests of an agent, which the server can query. */
export interface ExchangeKeeper {
  /**
   * Returns the answer as a JSON object of at most `maxExchangeBytes`. Rejects with a `Refusal` from `agentRefusals`.
   * @param tunnel name of the request's tunnel; undefined if the session no longer has it
   */
  answer(command: ExchangeCommand, tunnel: string | undefined): Promise<string>;
}
