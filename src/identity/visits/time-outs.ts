/** Ends logins that have timed out, in parts, so that no turn of the traffic thread takes long. */
import { makeSettledTime } from "../../lib/settled-time.ts";
import type { SettledTime } from "../../lib/settled-time.ts";
import type { LoginContext } from "../guard/login-context.ts";
import { guardsOf } from "./finish.ts";
import type { Guard } from "../guard/login-guard.ts";
import type { TimedSession } from "../sessions/sleeping.ts";

const turnMs = 250;
/** All sessions are checked within this number of turns, if there are more than the minimum per turn. */
const turnsOfRound = 120;
const leastInTurn = 250;
/** Each end is reported and stored, so the rest waits for the next turn. */
const maxEndsInTurn = 125;
/** Other edges report uses every 30 seconds, so they have reported by then. */
const untoldUseMs = 60_000;

/** Returns the function that stops it. */
export function endTimedOut(context: LoginContext): () => void {
  const { sessions, clock, end } = context;
  const time = makeSettledTime(clock);
  let round = sessions.timed()[Symbol.iterator]();
  const timer = clock.every(turnMs, () => {
    const timeIsUp = makeJudge(context, time);
    let ends = 0;
    for (let left = Math.max(leastInTurn, Math.ceil(sessions.size / turnsOfRound)); left > 0; left -= 1) {
      const { value: one, done } = round.next();
      if (done) {
        round = sessions.timed()[Symbol.iterator]();
        return;
      }
      if (!timeIsUp(one)) continue;
      const session = sessions.byId(one.id);
      if (session) end(session, "expired");
      ends += 1;
      if (ends === maxEndsInTurn) return;
    }
  });
  return () => timer.cancel();
}

/**
 * Whether no route admits a session any more at this moment.
 * @param time a clock that is wrong for an hour must not end sessions: guards refuse them meanwhile
 */
function makeJudge({ siteFor, settings, clock }: LoginContext, time: SettledTime): (session: TimedSession) => boolean {
  const [now, mono] = [time.now(), clock.monotonic()];
  const moment = { now: () => now, monotonic: () => mono };
  const longestMs = settings.idleDays * 86_400_000;
  /** Consecutive sessions usually belong to the same place. */
  let guards: readonly Guard[] = [];
  let [knownRealm, knownHost] = ["", ""];
  return (session) => {
    const idleMs = session.idle(moment);
    if (idleMs >= longestMs || session.isBeyond(moment)) return true;
    const ageMs = session.age(moment);
    const isOver = ({ maximumDuration, inactivityTimeout }: Limits): boolean =>
      (maximumDuration > 0 && ageMs >= maximumDuration * 1000) ||
      (inactivityTimeout > 0 && idleMs >= inactivityTimeout * 1000 + untoldUseMs);
    const { realm, host } = session.record;
    if (realm !== knownRealm || host !== knownHost) {
      const site = siteFor(host);
      guards = site ? guardsOf(site, ({ options }) => options.realm.tag === realm) : [];
      [knownRealm, knownHost] = [realm, host];
    }
    // Without its route, a session has only its own limits.
    return guards.length === 0 ? isOver(session.record) : guards.every(({ options }) => isOver(options));
  };
}

/** Seconds; 0 means none. */
interface Limits {
  readonly maximumDuration: number;
  readonly inactivityTimeout: number;
}
