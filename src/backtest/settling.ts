/** Reports upstreams' outcomes to circuit breakers when the recorded responses arrived. */
import { runContained } from "../lib/boundary.ts";
import type { CapturedRequest } from "../capture/captured-request.ts";
import type { ReplayClock } from "./replay-clock.ts";
import type { ReplayedExchange } from "./replayed-exchange.ts";

interface PendingSettlement {
  readonly atMs: number;
  readonly exchange: ReplayedExchange;
}

export class Settling {
  readonly #clock: ReplayClock;
  /** A binary heap: the earliest is first. */
  readonly #heap: PendingSettlement[] = [];

  constructor(clock: ReplayClock) {
    this.#clock = clock;
  }

  /** Reports the outcome later, if the route has circuit breakers and the request went upstream. */
  add({ receivedAt, upstream, durationMs }: CapturedRequest, exchange: ReplayedExchange): void {
    if (exchange.chosen === undefined || (exchange.route?.settled.length ?? 0) === 0) return;
    // Without a recorded response, nobody knows how the upstream would have answered.
    exchange.abandoned = exchange.upstreamStatus === undefined && exchange.ending === undefined;
    this.#push({ atMs: receivedAt / 1000 + (upstream?.waitedMs ?? durationMs), exchange });
  }

  /** Reports everything that is due. */
  until(ms: number): void {
    for (let first = this.#heap[0]; first !== undefined && first.atMs <= ms; first = this.#heap[0]) {
      this.#pop();
      const { atMs, exchange } = first;
      this.#clock.reach(atMs);
      for (const module of exchange.route?.settled ?? []) {
        runContained("exchange", () => module.settled?.(exchange, exchange.upstreamStatus));
      }
    }
  }

  #push(pending: PendingSettlement): void {
    const heap = this.#heap;
    let at = heap.push(pending) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if ((heap[parent] as PendingSettlement).atMs <= pending.atMs) break;
      heap[at] = heap[parent] as PendingSettlement;
      at = parent;
    }
    heap[at] = pending;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop() as PendingSettlement;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (
        child + 1 < heap.length &&
        (heap[child + 1] as PendingSettlement).atMs < (heap[child] as PendingSettlement).atMs
      )
        child += 1;
      if ((heap[child] as PendingSettlement).atMs >= last.atMs) break;
      heap[at] = heap[child] as PendingSettlement;
      at = child;
    }
    heap[at] = last;
  }
}
