import { createWriteStream, openSync } from "node:fs";
import { makeLog, silentLog } from "../../lib/log.ts";
import type { Log } from "../../lib/log.ts";
import { Failure } from "../process/exit.ts";
import { logFormOf, openLog } from "../process/log-output.ts";
import type { LogForm } from "../process/log-output.ts";

/** Maximum number of bytes that wait for a slow disk or reader. Further lines are lost (D10). */
const maxWaitingBytes = 4_194_304;

/** Opens the agent's log as its settings require. Throws `Failure` (usage) for a file that cannot be written. */
export function openAgentLog(settings: {
  /** stderr, stdout, false, or a file. */
  readonly log: string;
  readonly logLevel: LogForm["level"];
  readonly logFormat: LogForm["format"] | undefined;
}): Log {
  const { log: target } = settings;
  if (target === "false") return silentLog;
  if (target === "stderr") return openLog(logFormOf(settings));
  const output = target === "stdout" ? process.stdout : openFile(target);
  const { level, format } = logFormOf(settings);
  return makeLog({
    level,
    format: settings.logFormat ?? (target === "stdout" && process.stdout.isTTY ? "text" : format),
    now: Date.now,
    monotonic: () => performance.now(),
    write(lines) {
      if (output.writableLength <= maxWaitingBytes) output.write(lines);
    },
  });
}

function openFile(path: string): NodeJS.WritableStream & { readonly writableLength: number } {
  try {
    // Other users must not read who the visitors are.
    const stream = createWriteStream(path, { fd: openSync(path, "a", 0o600) });
    // A full disk costs only log lines.
    stream.on("error", () => {});
    return stream;
  } catch (error) {
    throw new Failure("usage", `--log: cannot write "${path}": ${(error as Error).message}`, { cause: error });
  }
}
