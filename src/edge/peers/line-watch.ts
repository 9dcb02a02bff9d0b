/** Detects that the other end of a line disappeared without closing it, such as a machine that loses power. */
import type { Clock } from "../../lib/clock.ts";
import { errorCode, ProtocolViolation } from "../../tunnel/mux/frame.ts";
import type { Mux } from "../../tunnel/mux/mux.ts";

/** Interval of the checks for received bytes, milliseconds. */
const lookMs = 5_000;
/** Maximum number of consecutive checks without received bytes, each after a request for an answer. */
const maxSilent = 3;

/**
 * Fails the line if no bytes arrive on it. Returns a function that stops the watch.
 * @param ask makes the other end send an answer
 */
export function watchLine(mux: Mux, clock: Clock, ask: () => void): () => void {
  let heard = mux.bytesReceived;
  let silent = 0;
  const timer = clock.every(lookMs, () => {
    silent = mux.bytesReceived === heard ? silent + 1 : 0;
    heard = mux.bytesReceived;
    if (silent > maxSilent) mux.fail(new ProtocolViolation(errorCode.protocol, "the other edge no longer answers"));
    else if (silent > 0) ask();
  });
  return () => timer.cancel();
}
