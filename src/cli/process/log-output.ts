import { makeLog } from "../../lib/log.ts";
import type { Log, LogLevel, LogLine } from "../../lib/log.ts";

/** Level and format of the log. */
export interface LogForm {
  readonly level: LogLevel;
  readonly format: "text" | "json";
}

/** Maximum number of bytes that wait for a slow reader of stderr. Further lines are lost. */
const maxWaitingBytes = 4_194_304;

let isReady = false;
let lostBytes = 0;

/** Returns the form in the settings. Default format: text on a terminal, otherwise JSON. */
export function logFormOf(settings: {
  readonly logLevel: LogForm["level"];
  readonly logFormat: LogForm["format"] | undefined;
}): LogForm {
  return { level: settings.logLevel, format: settings.logFormat ?? (process.stderr.isTTY ? "text" : "json") };
}

/** Opens the log of this thread, on stderr. @param also receives each line, too */
export function openLog(form: LogForm, also?: (line: LogLine) => void): Log {
  const own = { ...form, now: Date.now, monotonic: () => performance.now() };
  return makeLog({
    ...own,
    also,
    write(lines) {
      if (!writeLines(lines) || lostBytes === 0) return;
      const bytes = lostBytes;
      lostBytes = 0;
      makeLog({ ...own, write: (line) => void writeLines(line) }).warn("log lines lost", { bytes });
    },
  });
}

/**
 * Writes lines to stderr. A full disk or a slow or closed reader costs only lines (D10). Returns false if the lines are
 * certainly lost.
 */
export function writeLines(lines: string | Uint8Array): boolean {
  const { stderr } = process;
  if (!isReady) {
    isReady = true;
    // Lost lines are counted where they were written. Without a listener, the error would end the process.
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
