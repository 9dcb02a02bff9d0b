/** Finds out that the other end of a line has gone without a word, as a machine does that loses its power. */
import type { Clock } from "../../lib/clock.ts";
import { errorCode, ProtocolViolation } from "../../tunnel/mux/frame.ts";
import type { Mux } from "../../tunnel/mux/mux.ts";

/** How often it is looked whether something came. */
const lookMs = 5_000;
/** Looks in a row that found nothing, although the other end was asked at each. */
const maxSilent = 3;

/**
 * Has the line fail when nothing comes over it. Returns what ends that.
 * @param ask has the other end answer something
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
