/**
 * The edge's part of the access log: makes a line for each finished request and hands lines over in batches. The
 * server's main thread writes them. Traffic never waits for the log: lines beyond a bound are dropped and counted.
 */
import { usualAccessFields } from "../../../lib/access-fields.ts";
import type { AccessBatch, AccessWritten } from "../../../lib/access-fields.ts";
import type { Clock, Timer } from "../../../lib/clock.ts";
import type { Metrics } from "../../../lib/metrics.ts";
import type { EdgeSettings } from "../../../settings/edge.ts";
import type { FinishedExchange } from "../../http/http-context.ts";
import { lineMaker } from "./access-lines.ts";

/** The settings of the access log, and what writes its lines; absent without an access log. */
export interface AccessOptions extends Pick<EdgeSettings, "accessLogFormat" | "accessLogFields" | "accessLogHeaders"> {
  readonly accessLines?: ((batch: AccessBatch) => void) | undefined;
}

export interface AccessLogOptions {
  readonly settings: AccessOptions;
  readonly write: (batch: AccessBatch) => void;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly limits?: Partial<AccessLogLimits>;
}

export interface AccessLogLimits {
  /** Characters of lines that were not written yet. */
  readonly waiting: number;
  /** Characters of a batch that is handed over without waiting for more lines. */
  readonly batch: number;
  /** How long a line waits for others, milliseconds. */
  readonly lingerMs: number;
}

export interface AccessLog {
  note(exchange: FinishedExchange): void;
  /** A batch was written, or was lost. */
  written(result: AccessWritten): void;
  /** Hands over the waiting lines. */
  flush(): void;
}

const defaultLimits: AccessLogLimits = Object.freeze({ waiting: 8 * 1024 * 1024, batch: 64 * 1024, lingerMs: 100 });

export function makeAccessLog({ settings, write, clock, metrics, ...options }: AccessLogOptions): AccessLog {
  const limits = { ...defaultLimits, ...options.limits };
  const { accessLogFormat: format, accessLogFields, accessLogHeaders: headers } = settings;
  const fields = accessLogFields.length > 0 ? accessLogFields : usualAccessFields;
  const makeLine = lineMaker({ format, fields, headers });
  let text = "";
  let lines = 0;
  /** Characters that were handed over and not written yet. */
  let underWay = 0;
  let total = 0;
  let dropped = 0;
  let timer: Timer | undefined;
  metrics.counterOf("postern_access_log_lines_total", "Access log lines, with the dropped ones.", () => total);
  metrics.counterOf(
    "postern_access_log_dropped_total",
    "Access log lines that were dropped because the file could not be written, or not fast enough.",
    () => dropped,
  );
  const flush = (): void => {
    timer?.cancel();
    timer = undefined;
    if (lines === 0) return;
    const batch = { text, lines };
    underWay += text.length;
    text = "";
    lines = 0;
    write(batch);
  };
  return {
    note(exchange) {
      total += 1;
      if (underWay + text.length >= limits.waiting) {
        dropped += 1;
        return;
      }
      text += makeLine(exchange, clock.now());
      lines += 1;
      if (text.length >= limits.batch) flush();
      else timer ??= clock.after(limits.lingerMs, flush);
    },
    written({ length, lost }) {
      underWay -= length;
      dropped += lost;
    },
    flush,
  };
}
