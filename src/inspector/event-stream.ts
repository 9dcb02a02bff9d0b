/** What passes, told as it does: server-sent events (WHATWG HTML, "Server-sent events"). */
import type { ServerResponse } from "node:http";
import type { Timer } from "../lib/clock.ts";
import type { Exchange } from "./exchange.ts";
import type { Inspector } from "./inspector.ts";
import { LocalRefusal } from "./local-refusal.ts";
import { renderExchange } from "./render.ts";

export const eventsPath = "/api/requests/http/events";

/** Changes of so many milliseconds come together. */
const gatherMs = 100;
/** So that what is between does not take the silence for an end, milliseconds. */
const pulseMs = 20_000;
/** A reader with so many bytes unread is too slow. */
const maxUnreadBytes = 4_194_304;
const maxStreams = 16;
const open = new WeakMap<Inspector, number>();

/** Answers with exchanges, brief, each time that they have changed. Throws `LocalRefusal`. */
export function streamEvents(inspector: Inspector, response: ServerResponse): void {
  const { clock, store } = inspector;
  const streams = open.get(inspector) ?? 0;
  if (streams >= maxStreams) throw new LocalRefusal("local_busy", `${maxStreams} pages already show this`);
  open.set(inspector, streams + 1);
  const changed = new Set<Exchange>();
  let gathering: Timer | undefined;
  const write = (text: string): void => {
    if (response.writableLength > maxUnreadBytes) response.destroy();
    else response.write(text);
  };
  const tell = (): void => {
    gathering = undefined;
    const found = [...changed].map((one) => renderExchange(one, { isBrief: true }));
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
    open.set(inspector, (open.get(inspector) ?? 1) - 1);
  });
  response.writeHead(200, {
    "content-type": "text/event-stream",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  });
  pulse();
}
