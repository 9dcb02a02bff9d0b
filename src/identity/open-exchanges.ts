/** Requests that a login has let in and that are not over: cut when it ends. */
import type { Clock } from "../lib/clock.ts";
import type { Exchange } from "../traffic/exchange.ts";
import type { Session } from "./session.ts";

export interface OpenExchanges {
  /** @param endsAfterMs the session's longest age for this request; 0: none */
  add(exchange: Exchange, session: Session, endsAfterMs: number): void;
  /** Cuts what belongs to sessions that have ended. */
  sweep(): void;
  readonly size: number;
  stop(): void;
}

interface Held {
  readonly session: Session;
  readonly endsAfterMs: number;
  moved: number;
}

const sweepMs = 500;

export function makeOpenExchanges(clock: Clock): OpenExchanges {
  const open = new Map<Exchange, Held>();
  const forget = (exchange: Exchange): void => void open.delete(exchange);
  const sweep = (): void => {
    for (const [exchange, held] of open) {
      const { session, endsAfterMs } = held;
      if (session.ended || session.isBeyond(clock) || (endsAfterMs > 0 && session.age(clock) >= endsAfterMs)) {
        open.delete(exchange);
        exchange.breakOff?.();
        continue;
      }
      const moved = exchange.bytesMoved ?? 0;
      if (moved !== held.moved) session.touch(clock);
      held.moved = moved;
    }
  };
  const timer = clock.every(sweepMs, sweep);
  return {
    add(exchange, session, endsAfterMs) {
      // A described request is never broken off.
      if (exchange.breakOff === undefined) return;
      open.set(exchange, { session, endsAfterMs, moved: 0 });
      exchange.whenOver = forget;
    },
    sweep,
    get size() {
      return open.size;
    },
    stop: () => timer.cancel(),
  };
}
