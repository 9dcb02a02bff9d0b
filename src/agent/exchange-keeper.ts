import type { ExchangeCommand } from "../routing/planes/messages.ts";

export type { ExchangeCommand };

/** What an agent has kept of requests, for its server to ask for. */
export interface ExchangeKeeper {
  /**
   * What is answered, as the text of an object within `maxExchangeBytes`. Rejects with a `Refusal` that `agentRefusals` has.
   * @param tunnel that the request went through, by its name; undefined where the session has it no more
   */
  answer(command: ExchangeCommand, tunnel: string | undefined): Promise<string>;
}
