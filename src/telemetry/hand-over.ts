/**
 * Hands encoded items over in batches. Whoever makes spans or log records never waits: items beyond a bound are dropped
 * and counted. The bound includes everything that was handed over and is not yet sent.
 */
import type { Clock, Timer } from "../lib/clock.ts";
import type { Metrics } from "../lib/metrics.ts";
import type { Signal } from "../lib/telemetry-words.ts";
import { ProtoWriter } from "./proto-writer.ts";

export interface SignalBatch {
  readonly signal: Signal;
  /** Whole fields of a scope. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly items: number;
}

/**
 * Called once.
 * @param dropped number of items that were not accepted
 * @param memory of the batch, if it may be used again
 */
export type BatchDone = (dropped: number, memory?: ArrayBuffer) => void;

/** Passes batches to the exporter. */
export interface SignalLine {
  send(batch: SignalBatch, done: BatchDone): void;
}

export interface HandOverLimits {
  /** Bytes that wait, here and at the exporter. */
  readonly waiting: number;
  /** Bytes of a batch that is handed over without waiting for more items. */
  readonly batch: number;
  /** How long an item waits for others, milliseconds. */
  readonly lingerMs: number;
}

export const usualHandOver: HandOverLimits = Object.freeze({
  waiting: 8 * 1024 * 1024,
  batch: 960 * 1024,
  lingerMs: 1_000,
});

/** Bytes by which the last item of a batch may exceed its size. */
const roomForLast = 32 * 1024;

export interface HandOver {
  /** Encodes items with `write`, unless there is no room. */
  add(write: (to: ProtoWriter) => void, items?: number): void;
  /** Hands over what waits. */
  flush(): void;
}

export interface HandOverOptions {
  readonly signal: Signal;
  readonly line: SignalLine;
  readonly clock: Clock;
  readonly limits?: Partial<HandOverLimits>;
}

/** Counts of all hand-overs of this thread. */
const counts = { made: new Map<Signal, number>(), dropped: new Map<Signal, number>() };

export function makeHandOver({ signal, line, clock, ...options }: HandOverOptions): HandOver {
  const limits = { ...usualHandOver, ...options.limits };
  const writer = new ProtoWriter(limits.batch + roomForLast);
  let items = 0;
  let away = 0;
  let timer: Timer | undefined;
  const flush = (): void => {
    timer?.cancel();
    timer = undefined;
    if (items === 0) return;
    const batch = { signal, bytes: writer.give(), items };
    items = 0;
    const { byteLength } = batch.bytes.buffer;
    away += byteLength;
    line.send(batch, (dropped, memory) => {
      away -= byteLength;
      addToCount(counts.dropped, signal, dropped);
      if (memory !== undefined) writer.reuse(memory);
    });
  };
  return {
    add(write, added = 1) {
      addToCount(counts.made, signal, added);
      if (away + writer.length >= limits.waiting) {
        addToCount(counts.dropped, signal, added);
        return;
      }
      write(writer);
      items += added;
      if (writer.length >= limits.batch) flush();
      else timer ??= clock.after(limits.lingerMs, flush);
    },
    flush,
  };
}

function addToCount(of: Map<Signal, number>, signal: Signal, added: number): void {
  of.set(signal, (of.get(signal) ?? 0) + added);
}

/** Exports the counts of this thread. The metrics contain the sum over all threads. */
export function exportHandOverCounts(metrics: Metrics): void {
  for (const signal of ["traces", "logs"] as const) {
    metrics.counterOf(
      "postern_telemetry_items_total",
      "Spans and log records for the OpenTelemetry endpoint, with the dropped ones.",
      () => counts.made.get(signal) ?? 0,
      { signal },
    );
    metrics.counterOf(
      "postern_telemetry_dropped_total",
      "Spans and log records that were dropped because the OpenTelemetry endpoint was away, slow or rejected them.",
      () => counts.dropped.get(signal) ?? 0,
      { signal },
    );
  }
}
