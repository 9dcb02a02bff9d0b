/**
 * The edge's part of capture: notes finished requests and hands them over in batches. The capture thread redacts,
 * compresses, seals and writes them. Traffic never waits for it: records beyond a bound are dropped and counted.
 */
import type { CaptureLine } from "../../../capture/capture-batch.ts";
import { linesOf } from "../../../capture/format/head-lines.ts";
import { RecordWriter } from "../../../capture/format/record-writer.ts";
import type { NotedRequest } from "../../../capture/format/record-writer.ts";
import type { Clock, Timer } from "../../../lib/clock.ts";
import type { Metrics } from "../../../lib/metrics.ts";
import type { RoutingTable } from "../../../routing/sites/compiled-site.ts";
import type { FinishedExchange } from "../../http/http-context.ts";
import { makeNotes } from "./notes.ts";
import type { CapturePlace } from "./notes.ts";
import { makeCaptureRules } from "./capture-rules.ts";

export interface CaptureOptions {
  readonly line: CaptureLine;
  readonly table: Pick<RoutingTable, "object" | "subscribe">;
  /** Whether requests are captured where nothing else is configured. */
  readonly isDefault: boolean;
  readonly place: () => CapturePlace;
  readonly random: () => number;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly limits?: Partial<CaptureLimits>;
}

export interface CaptureLimits {
  /** Bytes of records that were not taken yet. */
  readonly waiting: number;
  /** Bytes of a batch that is handed over without waiting for more records. */
  readonly batch: number;
  /** How long a record waits for others, milliseconds. */
  readonly lingerMs: number;
}

export interface Capture {
  /** Returns how many bytes of the request's body are captured. */
  bodyBytes(exchange: Parameters<ReturnType<typeof makeCaptureRules>>[0]): number;
  note(exchange: FinishedExchange): void;
  /** Hands over the waiting records. */
  flush(): void;
}

const defaultLimits: CaptureLimits = Object.freeze({ waiting: 8 * 1024 * 1024, batch: 128 * 1024, lingerMs: 200 });

export function makeCapture({ line, clock, metrics, random, place, ...options }: CaptureOptions): Capture {
  const limits = { ...defaultLimits, ...options.limits };
  const ruleFor = makeCaptureRules(options.table, options.isDefault);
  const records = new RecordWriter();
  const notesOf = makeNotes();
  /** Asked for once per batch, because other nodes come and go. */
  let at: CapturePlace | undefined;
  let lost = new Map<string, number>();
  let timer: Timer | undefined;
  let total = 0;
  let dropped = 0;
  metrics.counterOf("postern_captured_requests_total", "Requests to capture, with the dropped ones.", () => total);
  metrics.counterOf(
    "postern_capture_dropped_total",
    "Requests that were not captured because the thread that writes them was behind.",
    () => dropped,
  );
  const flush = (): void => {
    timer?.cancel();
    timer = undefined;
    if (records.count === 0 && lost.size === 0) return;
    at = undefined;
    const batch = { bytes: records.take(), dropped: [...lost] };
    if (lost.size > 0) lost = new Map();
    line.send(batch);
  };
  return {
    bodyBytes: (exchange) => ruleFor(exchange)?.bodyBytes ?? 0,
    note(exchange) {
      const { accountId } = exchange;
      if (accountId === undefined) return;
      const rule = ruleFor(exchange);
      if (rule === undefined || (rule.sample < 1 && !isRefused(exchange) && random() >= rule.sample)) return;
      total += 1;
      if (line.waitingBytes + records.length >= limits.waiting) {
        dropped += 1;
        lost.set(accountId, (lost.get(accountId) ?? 0) + 1);
      } else {
        const { connection, decision } = notesOf(exchange, rule, (at ??= place()));
        records.add(connection, decision, exchange.request.headers.hasGaps ? withoutGaps(exchange) : exchange);
      }
      if (records.length >= limits.batch) flush();
      else timer ??= clock.after(limits.lingerMs, flush);
    },
    flush,
  };
}

/** Fields of HTTP/2 that were received and not used are between the others. */
function withoutGaps(exchange: FinishedExchange): NotedRequest {
  const { requestId, receivedAt, durationMs, waitedMs, bytesIn, bytesOut, cutShort, path } = exchange;
  const { request, responded, capturedBody } = exchange;
  const { target, headers } = request;
  return {
    requestId,
    receivedAt,
    durationMs,
    waitedMs,
    bytesIn,
    bytesOut,
    cutShort,
    path,
    request: { target, headers: linesOf(headers.received()) },
    responded,
    capturedBody,
  };
}

/** Whether it was denied or failed. */
function isRefused({ cutShort, steps }: FinishedExchange): boolean {
  if (cutShort) return true;
  const last = steps.at(-1);
  return last?.answer !== undefined && (last.outcome === "denied" || "error" in last.answer);
}
