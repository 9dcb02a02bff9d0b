/** Sends request durations to agents that display them. Batched, so that one frame carries many. */
import type { Clock, Timer } from "../../lib/clock.ts";
import { maxTimesBytes, timesLine } from "../../tunnel/request-times.ts";
import type { RequestTimes } from "../../tunnel/request-times.ts";
import type { AgentSession } from "../../tunnel/server-hooks.ts";

/** Interval of a batch, milliseconds. */
const gatherMs = 100;
/** Approximate maximum size of one line, bytes. */
const lineBytes = 128;

export type TellTimes = (session: AgentSession, requestId: string, times: RequestTimes) => void;

export function makeRequestTimes(clock: Clock): TellTimes {
  let waiting = new Map<AgentSession, string>();
  let timer: Timer | undefined;
  const tell = (): void => {
    timer = undefined;
    const times = waiting;
    waiting = new Map();
    for (const [session, lines] of times) session.tellTimes(lines);
  };
  return (session, requestId, times) => {
    const lines = (waiting.get(session) ?? "") + timesLine(requestId, times);
    if (lines.length > maxTimesBytes - lineBytes) {
      waiting.delete(session);
      session.tellTimes(lines);
      return;
    }
    waiting.set(session, lines);
    timer ??= clock.after(gatherMs, tell);
  };
}
