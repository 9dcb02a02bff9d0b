/** What one thread adds to the telemetry. Loaded only if telemetry is sent. */
import type { MessagePort } from "node:worker_threads";
import { runUnattended } from "../../../lib/boundary.ts";
import { systemClock } from "../../../lib/clock.ts";
import type { LogLine } from "../../../lib/log.ts";
import type { SpanRecorder } from "../../../lib/span-recorder.ts";
import type { ExportedPart, Sampling, Signal } from "../../../lib/telemetry-words.ts";
import { makeHandOver } from "../../../telemetry/hand-over.ts";
import type { BatchDone, HandOver, SignalBatch, SignalLine } from "../../../telemetry/hand-over.ts";
import { writeLogLine } from "../../../telemetry/log-record.ts";
import { encodeMetrics } from "../../../telemetry/encode-metrics.ts";
import { makeSpanRecorder } from "../../../telemetry/recorder.ts";

/** What all threads know about the telemetry. */
export interface TelemetryShare {
  readonly parts: readonly ExportedPart[];
  readonly sampling: Sampling;
  /** Whether traces continue a client's. */
  readonly continues: boolean;
  readonly metricIntervalMs: number;
}

export interface ToTelemetry {
  readonly id: number;
  readonly batch: SignalBatch;
}

export interface FromTelemetry {
  readonly id: number;
  readonly dropped: number;
  /** Memory of the batch, which goes back to its thread. Absent if the telemetry thread has failed. */
  readonly memory?: ArrayBuffer;
}

export class TelemetryEnd {
  readonly share: TelemetryShare;
  /** Absent if traces are not sent. */
  readonly spans: HandOver | undefined;
  readonly access: HandOver | undefined;
  readonly recorder: SpanRecorder | undefined;
  readonly #logs: HandOver | undefined;
  readonly #line = new PortSignalLine();
  readonly #startedAt = systemClock.now();

  constructor(share: TelemetryShare) {
    this.share = share;
    const handOver = (part: ExportedPart, signal: Signal): HandOver | undefined =>
      share.parts.includes(part) ? makeHandOver({ signal, line: this.#line, clock: systemClock }) : undefined;
    this.spans = handOver("traces", "traces");
    this.access = handOver("access_log", "logs");
    this.#logs = handOver("logs", "logs");
    this.recorder = this.spans && makeSpanRecorder(this.spans, share.sampling);
  }

  /** The telemetry thread runs, or runs again. */
  attach(port: MessagePort): void {
    this.#line.attach(port);
  }

  logged(line: LogLine): void {
    this.#logs?.add((to) => writeLogLine(to, line));
  }

  /** Sends the metrics regularly until `cancel` is called. @param read returns Prometheus' text format */
  sendMetrics(read: () => Promise<string>): { cancel(): void } {
    if (!this.share.parts.includes("metrics")) return { cancel: () => undefined };
    let isAway = false;
    const send = async (): Promise<void> => {
      // Each export has the whole sums, so the next one makes up for one that could not be sent.
      if (isAway) return;
      isAway = true;
      const text = await read();
      const encoded = encodeMetrics(text, { since: this.#startedAt, now: systemClock.now() });
      this.#line.send({ signal: "metrics", ...encoded }, () => (isAway = false));
    };
    const timer = setInterval(() => runUnattended("task", send()), this.share.metricIntervalMs);
    timer.unref();
    return { cancel: () => clearInterval(timer) };
  }

  flush(): void {
    for (const one of [this.spans, this.access, this.#logs]) one?.flush();
  }
}

/** To the telemetry thread. Batches wait while it starts. */
class PortSignalLine implements SignalLine {
  #port: MessagePort | undefined;
  #early: ToTelemetry[] = [];
  #lastId = 0;
  /** Batches without a result, by id. */
  readonly #away = new Map<number, { readonly items: number; readonly done: BatchDone }>();

  send(batch: SignalBatch, done: BatchDone): void {
    this.#lastId += 1;
    this.#away.set(this.#lastId, { items: batch.items, done });
    const message = { id: this.#lastId, batch };
    if (this.#port === undefined) this.#early.push(message);
    else this.#port.postMessage(message, [batch.bytes.buffer]);
  }

  attach(port: MessagePort): void {
    const isFirst = this.#port === undefined;
    this.#port?.close();
    this.#port = port;
    // What the earlier thread had not sent is lost with it.
    if (!isFirst) for (const [id, { items }] of Array.from(this.#away)) this.#done({ id, dropped: items });
    port.on("message", (result: FromTelemetry) => this.#done(result));
    // A port that waits for messages must not keep the thread alive.
    port.unref();
    for (const message of this.#early.splice(0)) port.postMessage(message, [message.batch.bytes.buffer]);
  }

  #done({ id, dropped, memory }: FromTelemetry): void {
    const one = this.#away.get(id);
    this.#away.delete(id);
    one?.done(dropped, memory);
  }
}
