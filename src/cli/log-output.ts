import { makeLog } from "../lib/log.ts";
import type { Log } from "../lib/log.ts";
import type { LogSettings } from "./threads/thread-messages.ts";

/** Bytes waiting for a slow reader of stderr, beyond which lines are dropped and counted. */
const maxWaitingBytes = 4_194_304;

/** The log of this thread, on stderr. */
export function openLog(settings: LogSettings): Log {
  let droppedBytes = 0;
  return makeLog({
    ...settings,
    now: Date.now,
    write(lines) {
      if (process.stderr.writableLength > maxWaitingBytes) {
        droppedBytes += lines.length;
        return;
      }
      if (droppedBytes > 0) {
        const dropped = droppedBytes;
        droppedBytes = 0;
        makeLog({ ...settings, now: Date.now, write: (line) => void process.stderr.write(line) }).warn(
          "log lines dropped",
          {
            bytes: dropped,
          },
        );
      }
      process.stderr.write(lines);
    },
  });
}
