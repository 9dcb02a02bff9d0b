import { makeLog } from "../../lib/log.ts";
import type { Log, LogLevel } from "../../lib/log.ts";

/** Which lines are logged, and how they look. */
export interface LogForm {
  readonly level: LogLevel;
  readonly format: "text" | "json";
}

/** Bytes waiting for a slow reader of stderr, beyond which lines are lost. */
const maxWaitingBytes = 4_194_304;

let isReady = false;
let lostBytes = 0;

/** As the settings say: text on a terminal, and JSON otherwise, where no format was chosen. */
export function logFormOf(settings: {
  readonly logLevel: LogForm["level"];
  readonly logFormat: LogForm["format"] | undefined;
}): LogForm {
  return { level: settings.logLevel, format: settings.logFormat ?? (process.stderr.isTTY ? "text" : "json") };
}

/** The log of this thread, on stderr. */
export function openLog(form: LogForm): Log {
  const own = { ...form, now: Date.now, monotonic: () => performance.now() };
  return makeLog({
    ...own,
    write(lines) {
      if (!writeLines(lines) || lostBytes === 0) return;
      const bytes = lostBytes;
      lostBytes = 0;
      makeLog({ ...own, write: (line) => void writeLines(line) }).warn("log lines lost", { bytes });
    },
  });
}

/**
 * Writes lines to stderr. A disk that is full, and a reader that is slow or has gone, cost lines and nothing else
 * (D10). False when they are lost for certain.
 */
export function writeLines(lines: string | Uint8Array): boolean {
  const { stderr } = process;
  if (!isReady) {
    isReady = true;
    // What cannot be written is counted where it was written; without a listener the process would end.
    stderr.on("error", () => {});
  }
  if (stderr.writableLength > maxWaitingBytes) {
    lostBytes += lines.length;
    return false;
  }
  stderr.write(lines, (error) => {
    if (error) lostBytes += lines.length;
  });
  return true;
}
