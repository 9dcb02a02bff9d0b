/** Notifies open console pages of new data, by server-sent events. */
import type { ServerResponse } from "node:http";
import type { Clock, Timer } from "../../lib/clock.ts";
import { Refusal } from "../../lib/errors.ts";
import type { Store } from "../../storage/store.ts";
import type { EdgeQueries } from "../edges/queries.ts";

export interface LiveTellers {
  /** Sends events while the session `holds` and the page is open. Throws `Refusal`. */
  begin(accountId: string, holds: () => boolean, response: ServerResponse): void;
  /** Ends all streams. */
  stop(): void;
}

/** Interval of queries to the edges, for all pages of an account together, milliseconds. */
const askMs = 1_000;
const pulseMs = 20_000;
const maxPages = 256;

interface Listeners {
  readonly responses: Map<ServerResponse, () => boolean>;
  asking: Timer | undefined;
  newest: string | undefined;
}

export function makeLiveTellers(store: Store, queries: Pick<EdgeQueries, "ask">, clock: Clock): LiveTellers {
  const byAccount = new Map<string, Listeners>();
  let pages = 0;
  const tell = ({ responses }: Listeners, event: string, data: object): void => {
    const text = `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
    for (const [response, holds] of responses) {
      if (!holds()) response.end();
      // The page reads too slowly to receive all events.
      else if (response.writableLength > 65_536) response.destroy();
      else response.write(text);
    }
  };
  store.subscribe(({ accountId, revision }) => {
    const listeners = byAccount.get(accountId);
    if (listeners) tell(listeners, "revision", { revision });
  });
  const ask = async (accountId: string, listeners: Listeners): Promise<void> => {
    try {
      const answer = await queries.ask({ name: "requests", accountId, limit: 1, beforeId: undefined });
      const newest = answer.name === "requests" ? answer.requests[0]?.id : undefined;
      if (newest !== undefined && newest !== listeners.newest) tell(listeners, "requests", { newest });
      listeners.newest = newest;
    } catch {
      // No edge is connected. The page detects that on its own.
    }
    if (listeners.responses.size > 0) listeners.asking = clock.after(askMs, () => void ask(accountId, listeners));
  };
  const of = (accountId: string): Listeners => {
    let listeners = byAccount.get(accountId);
    if (listeners) return listeners;
    listeners = { responses: new Map(), asking: undefined, newest: undefined };
    byAccount.set(accountId, listeners);
    listeners.asking = clock.after(0, () => void ask(accountId, listeners));
    return listeners;
  };
  return {
    begin(accountId, holds, response) {
      if (pages >= maxPages) throw new Refusal("too_many_requests", `${maxPages} pages are already listening`);
      pages += 1;
      const listeners = of(accountId);
      listeners.responses.set(response, holds);
      response.writeHead(200, {
        "content-type": "text/event-stream",
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
      });
      let pulsing: Timer;
      const pulse = (): void => {
        if (!holds()) return void response.end();
        response.write(":\n\n");
        pulsing = clock.after(pulseMs, pulse);
      };
      pulse();
      response.once("close", () => {
        pages -= 1;
        pulsing?.cancel();
        listeners.responses.delete(response);
        if (listeners.responses.size > 0) return;
        listeners.asking?.cancel();
        byAccount.delete(accountId);
      });
    },
    stop() {
      for (const { responses, asking } of byAccount.values()) {
        asking?.cancel();
        for (const response of responses.keys()) response.end();
      }
    },
  };
}
