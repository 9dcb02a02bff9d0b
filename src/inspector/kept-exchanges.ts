/**
 * Answers the server's questions about captured requests through the agent's session: one request with its response,
 * and replays.
 */
import type { ExchangeCommand, ExchangeKeeper } from "../agent/exchange-keeper.ts";
import { Refusal } from "../lib/errors.ts";
import type { AgentRefusal } from "../lib/errors/agents.ts";
import { maxExchangeBytes } from "../tunnel/exchange-question.ts";
import type { InspectedExchange } from "./inspected-exchange.ts";
import type { InspectedTunnel, Inspector } from "./inspector.ts";
import { LocalRefusal } from "./local-refusal.ts";
import type { LocalRefusalName } from "./local-refusal.ts";
import { renderKept } from "./render-kept.ts";
import { replayExchange } from "./replay.ts";
import { requestIdOf } from "./told-times.ts";

/** Maximum number of replays listed for a request. */
const maxReplays = 20;
/** Number of replay ids that are remembered. A repeated id triggers no second replay. */
const maxRemembered = 500;
/** Time limit for the response to a replay, milliseconds. The replay continues afterwards. */
const answerMs = 5_000;
const lookMs = 20;
/** Sizes of body excerpts, bytes. The first size at which everything fits is used. */
const bodySizes = [262_144, 65_536, 0];

const replayRefusals: Partial<Record<LocalRefusalName, AgentRefusal>> = {
  local_replay_impossible: "replay_impossible",
  local_replay_unreachable: "replay_unreachable",
  local_busy: "exchange_busy",
};

export function keepExchanges(inspector: Inspector): ExchangeKeeper {
  /** Ids of sent replays, oldest first, so that the outcome of each survives its eviction from the store. */
  const replays = new Map<string, Promise<string>>();
  const once = (id: string, send: () => Promise<string>): Promise<string> => {
    const sent = replays.get(id) ?? send();
    replays.set(id, sent);
    for (const oldest of replays.keys()) {
      if (replays.size <= maxRemembered) break;
      replays.delete(oldest);
    }
    return sent;
  };
  return {
    async answer(command, tunnel) {
      const { exchange, through } = findExchange(inspector, command, tunnel);
      if (command.name === "exchange") {
        const { exchangeId } = command;
        if (exchangeId === "" || exchangeId === exchange.id) return textOf(inspector, exchange);
        const repeated = inspector.store.get(exchangeId);
        if (repeated?.replayOf !== exchange.id) throw new Refusal("exchange_forgotten");
        return textOf(inspector, repeated);
      }
      const send = async (): Promise<string> => (await replayExchange(inspector, exchange, through, {})).id;
      const sent = inspector.store.get(await once(command.replayId, send).catch(rethrowRefusal));
      if (!sent) throw new Refusal("exchange_forgotten");
      // The id belongs to a replay of another request.
      if (sent.replayOf !== exchange.id) throw new Refusal("replay_impossible");
      await waitForResponse(inspector, sent);
      return textOf(inspector, sent);
    },
  };
}

/** Throws `Refusal` for requests that are no longer captured, and for tunnels whose requests must not be captured. */
function findExchange(
  { store, tunnels }: Inspector,
  { requestId }: ExchangeCommand,
  named: string | undefined,
): { readonly exchange: InspectedExchange; readonly through: InspectedTunnel } {
  const exchange = store.find(requestId, (one) => requestIdOf(one) === requestId);
  const through = tunnels.get(exchange?.tunnel ?? named ?? "");
  if (through && !through.isKept) throw new Refusal("exchange_not_kept");
  if (!exchange || !through) throw new Refusal("exchange_forgotten");
  return { exchange, through };
}

function textOf({ store, times }: Inspector, exchange: InspectedExchange): string {
  const replays = store.replaysOf(exchange.replayOf ?? exchange.id, maxReplays);
  for (const maxBodyBytes of bodySizes) {
    const text = JSON.stringify(renderKept(exchange, { replays, times: times.of(exchange), maxBodyBytes }));
    if (Buffer.byteLength(text) <= maxExchangeBytes) return text;
  }
  throw new Error(`the headers of exchange ${exchange.id} are longer than a message can be`);
}

/** Resolves when the response is complete, or after a time limit. */
function waitForResponse({ clock }: Inspector, exchange: InspectedExchange): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const endsAt = clock.monotonic() + answerMs;
  const isOver = (): boolean => exchange.durationMs !== undefined || clock.monotonic() >= endsAt;
  if (isOver()) return Promise.resolve();
  const timer = clock.every(lookMs, () => {
    if (!isOver()) return;
    timer.cancel();
    resolve();
  });
  return promise;
}

function rethrowRefusal(error: unknown): never {
  const reason = error instanceof LocalRefusal ? replayRefusals[error.reason] : undefined;
  throw reason === undefined ? error : new Refusal(reason);
}
