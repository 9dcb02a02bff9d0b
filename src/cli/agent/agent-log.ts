import { createWriteStream, openSync } from "node:fs";
import { makeLog, silentLog } from "../../lib/log.ts";
import type { Log } from "../../lib/log.ts";
import { Failure } from "../process/exit.ts";
import { logFormOf, openLog } from "../process/log-output.ts";
import type { LogForm } from "../process/log-output.ts";

/** Bytes waiting for a slow disk or reader, beyond which lines are lost (D10). */
const maxWaitingBytes = 4_194_304;

/** The log of an agent, where its settings want it. Throws `Failure` (usage) for a file that cannot be written. */
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
    // Nobody else needs to know who visits.
    const stream = createWriteStream(path, { fd: openSync(path, "a", 0o600) });
    // A disk that is full costs lines and nothing else.
    stream.on("error", () => {});
    return stream;
  } catch (error) {
    throw new Failure("usage", `--log: cannot write "${path}": ${(error as Error).message}`, { cause: error });
  }
}
