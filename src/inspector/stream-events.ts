/** Streams exchanges as server-sent events (WHATWG HTML, "Server-sent events"). */
import type { ServerResponse } from "node:http";
import type { Timer } from "../lib/clock.ts";
import type { InspectedExchange } from "./inspected-exchange.ts";
import type { Inspector } from "./inspector.ts";
import { LocalRefusal } from "./local-refusal.ts";
import { renderExchange } from "./render-tunnel.ts";

export const eventsPath = "/api/requests/http/events";

/** Changes within this time are sent together, milliseconds. */
const gatherMs = 100;
/** Interval of keep-alive comments, so that proxies do not close an idle stream, milliseconds. */
const pulseMs = 20_000;
/** A reader with this many unread bytes is disconnected. */
const maxUnreadBytes = 4_194_304;
const maxStreams = 16;
const open = new WeakMap<Inspector, number>();

/**
 * Sends a short form of each exchange whenever it changes. Throws `LocalRefusal`.
 * @param streams the open responses, for whoever ends them
 */
export function streamEvents(inspector: Inspector, response: ServerResponse, streams: Set<ServerResponse>): void {
  const { clock, store, times } = inspector;
  const count = open.get(inspector) ?? 0;
  if (count >= maxStreams) throw new LocalRefusal("local_busy", `${maxStreams} pages already show this`);
  open.set(inspector, count + 1);
  streams.add(response);
  const changed = new Set<InspectedExchange>();
  let gathering: Timer | undefined;
  const write = (text: string): void => {
    if (response.writableLength > maxUnreadBytes) response.destroy();
    else response.write(text);
  };
  const tell = (): void => {
    gathering = undefined;
    const found = [...changed].map((one) => renderExchange(one, { isBrief: true, times }));
    changed.clear();
    write(`event: requests\ndata: ${JSON.stringify(found)}\n\n`);
  };
  const unwatch = store.watch((exchange) => {
    if (!exchange) {
      changed.clear();
      return write("event: cleared\ndata: {}\n\n");
    }
    changed.add(exchange);
    gathering ??= clock.after(gatherMs, tell);
  });
  let pulsing: Timer;
  const pulse = (): void => {
    write(":\n\n");
    pulsing = clock.after(pulseMs, pulse);
  };
  response.once("close", () => {
    unwatch();
    gathering?.cancel();
    pulsing.cancel();
    streams.delete(response);
    open.set(inspector, (open.get(inspector) ?? 1) - 1);
  });
  response.writeHead(200, {
    "content-type": "text/event-stream",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  });
  pulse();
}
