/** Server-sent events with back-off: a page that cannot reach its server retries less and less often. */
import { signal } from "@preact/signals";
import type { Signal } from "@preact/signals";

export type LiveState = "connecting" | "live" | "away";

export interface Live {
  readonly state: Signal<LiveState>;
  close(): void;
}

export interface LiveOptions {
  readonly url: string;
  /** Called for each new connection. Events in between are lost, so the page must reload its data. */
  opened(): void;
  /** Handlers by the name of the event. */
  readonly events: Readonly<Record<string, (data: unknown) => void>>;
}

const longestMs = 30_000;

export function openLive({ url, opened, events }: LiveOptions): Live {
  const state = signal<LiveState>("connecting");
  let waitMs = 500;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let source: EventSource | undefined;
  const open = (): void => {
    const own = new EventSource(url);
    source = own;
    own.addEventListener("open", () => {
      waitMs = 500;
      state.value = "live";
      opened();
    });
    for (const [name, handle] of Object.entries(events)) {
      own.addEventListener(name, (event: MessageEvent<string>) => handle(JSON.parse(event.data)));
    }
    own.addEventListener("error", () => {
      // The browser's own retries have a fixed interval.
      own.close();
      state.value = "away";
      timer = setTimeout(open, waitMs * (0.75 + Math.random() / 2));
      waitMs = Math.min(longestMs, waitMs * 2);
    });
  };
  open();
  return {
    state,
    close() {
      clearTimeout(timer);
      source?.close();
    },
  };
}
