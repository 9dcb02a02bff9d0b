/**
 * Sessions by the cookies that brought them a moment ago: hashing a cookie costs a request more than all else that is
 * asked about its session. The only place that holds cookies as they are, for seconds (decision 15).
 */
import type { Clock } from "../../lib/clock.ts";
import type { Session } from "./login-session.ts";

export interface SeenCookies {
  /** Returns undefined if the cookie was not seen recently, or its session has ended. */
  get(cookie: string): Session | undefined;
  put(cookie: string, session: Session): void;
  /** Forgets the cookies of a session. */
  drop(session: Session): void;
  stop(): void;
}

const keptMs = 10_000;
const maxKept = 1_000;

export function makeSeenCookies(clock: Clock): SeenCookies {
  const sessions = new Map<string, Session>();
  const cookies = new Map<Session, string>();
  const clear = (): void => {
    sessions.clear();
    cookies.clear();
  };
  const timer = clock.every(keptMs, clear);
  return {
    get(cookie) {
      const session = sessions.get(cookie);
      return session?.ended === true ? undefined : session;
    },
    put(cookie, session) {
      if (sessions.size >= maxKept) clear();
      // A substring would keep the whole string alive, including the request's other cookies.
      const alone = Buffer.from(cookie, "latin1").latin1Slice();
      sessions.set(alone, session);
      cookies.set(session, alone);
    },
    drop(session) {
      const cookie = cookies.get(session);
      if (cookie === undefined) return;
      sessions.delete(cookie);
      cookies.delete(session);
    },
    stop() {
      timer.cancel();
      clear();
    },
  };
}
