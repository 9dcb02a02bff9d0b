/** Detects that the other end of a line disappeared without closing it, such as a machine that loses power. */
import type { Clock } from "../../lib/clock.ts";
import { errorCode, ProtocolViolation } from "../../tunnel/mux/frame.ts";
import type { Mux } from "../../tunnel/mux/mux.ts";

/** Interval of the checks for received bytes, milliseconds. */
const lookMs = 500;
/** Number of consecutive checks without received bytes after which new requests do not use the line. */
const silentAfter = 4;
/** Number of such checks after which the line fails with everything on it. */
const overAfter = 40;

export interface LineWatcher {
  /** Makes the other end send an answer. */
  ask(): void;
  /** Called when the line becomes silent, and when bytes arrive again. */
  silent(isSilent: boolean): void;
}

/** Watches the bytes that arrive on the line, and fails it if there are none. Returns a function that stops the watch. */
export function watchLine(mux: Mux, clock: Clock, watcher: LineWatcher): () => void {
  let bytesBefore = mux.bytesReceived;
  let looks = 0;
  const timer = clock.every(lookMs, () => {
    const before = looks;
    looks = mux.bytesReceived === bytesBefore ? looks + 1 : 0;
    bytesBefore = mux.bytesReceived;
    if (looks === 0 && before >= silentAfter) watcher.silent(false);
    if (looks === silentAfter) watcher.silent(true);
    // Less and less often while the line stays silent.
    if (looks > 0 && (looks & (looks - 1)) === 0) watcher.ask();
    if (looks >= overAfter) mux.fail(new ProtocolViolation(errorCode.protocol, "the other edge no longer answers"));
  });
  return () => timer.cancel();
}
