/**
 * Ends the sessions of removed logins. A login is removed when its edge is deleted or when no route of the edge uses
 * it. These sessions do not return when the same login is created again. Sessions of agent endpoints stay, because
 * those endpoints disconnect and reconnect.
 */
import { makeEndedLogin } from "../../identity/sessions/login-events.ts";
import type { TellLogin } from "../../identity/sessions/login-events.ts";
import { recordOf, sessionKind } from "../../identity/sessions/session-records.ts";
import { hasLostLogin, mayAskFor } from "../../identity/sessions/route-logins.ts";
import type { MadeLogin } from "../../identity/sessions/route-logins.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { applicationSession } from "../../resources/application-session.ts";
import type { Change, Store } from "../../storage/store.ts";
import type { SpanRecorder } from "../../lib/span-recorder.ts";
import { recordJob } from "../operation/recorded.ts";
import { systemWrite } from "../operation/system-write.ts";
import { routeKind } from "./metadata-book.ts";

/** Maximum number of sessions that one write ends. */
const maxEnded = 1_000;
/** Minimum time between two scans of all sessions, however many routes change. */
const restMs = 1_000;
/** Delay after the start until the scan for sessions whose login was removed while no server ran. */
const afterStartMs = 60_000;
const common: readonly string[] = applicationSession.packed?.common ?? [];
const [edgeAt, loginAt] = [common.indexOf("edge_id"), common.indexOf("login")];

export interface GoneLoginsOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly tell: TellLogin;
  readonly recorder?: SpanRecorder | undefined;
}

export function endGoneLogins({ store, clock, log, tell, recorder }: GoneLoginsOptions): { stop(): void } {
  const job = store.jobs.want("end logins without a route");
  const end = async (): Promise<number> => {
    let count = 0;
    if (!job.isHeld()) return count;
    for (const [accountId, ids] of listGoneLogins(store)) {
      for (let from = 0; from < ids.length; from += maxEnded) {
        const some = ids.slice(from, from + maxEnded);
        const { result: ended } = await store.write(systemWrite(accountId, "endGoneLogins", clock), (draft) => {
          const present = some.map((id) => draft.get(accountId, sessionKind, id)).filter((one) => one !== undefined);
          for (const session of present) draft.delete(session);
          return present;
        });
        count += ended.length;
        for (const session of ended) {
          const record = recordOf(session);
          if (record)
            tell("login_ended.v0", accountId, () => makeEndedLogin({ record }, "login_gone", undefined, true));
        }
      }
    }
    return count;
  };
  const attempt = (): void =>
    void recordJob(recorder, clock, "end logins without a route", end).catch((error: unknown) =>
      log.warn("sessions of logins without a route not ended", { error }),
    );
  let rest: Timer | undefined;
  let isWanted = false;
  const want = (): void => {
    isWanted = rest !== undefined;
    if (isWanted) return;
    rest = clock.after(restMs, () => {
      rest = undefined;
      if (isWanted) want();
    });
    queueMicrotask(attempt);
  };
  store.subscribe(({ changes }) => {
    // Deleting an edge deletes its routes. A scan of all sessions is expensive, so only a removed login starts one.
    const isLost = ({ kind, before, after }: Change): boolean =>
      kind === routeKind && before !== undefined && hasLostLogin(before.doc, after?.doc);
    if (changes.some(isLost)) want();
  });
  const timer = clock.after(afterStartMs, attempt);
  return {
    stop() {
      timer.cancel();
      rest?.cancel();
    },
  };
}

/** Returns the ids of the sessions whose login was removed, by account. */
function listGoneLogins(store: Store): ReadonlyMap<string, readonly string[]> {
  const gone = new Map<string, string[]>();
  const verdicts = new Map<string, boolean>();
  /** Caches the result for all sessions that share a login. */
  const isGone = (edgeId: string, login: string): boolean => {
    const key = `${edgeId} ${login}`;
    let verdict = verdicts.get(key);
    if (verdict === undefined) {
      const made = JSON.parse(login) as MadeLogin;
      verdict = !store.children(routeKind, edgeId).some(({ doc }) => mayAskFor(doc, made));
      verdicts.set(key, verdict);
    }
    return verdict;
  };
  for (const { commons, objects } of store.packed(sessionKind)) {
    const accounts = commons.map(({ account_id, text }) => {
      const values = JSON.parse(text) as readonly string[];
      const [edgeId = "", login = ""] = [values[edgeAt], values[loginAt]];
      return edgeId !== "" && login !== "" && isGone(edgeId, login) ? account_id : undefined;
    });
    if (accounts.every((one) => one === undefined)) continue;
    for (const line of Buffer.from(objects).toString().split("\n")) {
      const [at = "", id = ""] = line.split(" ", 2);
      const accountId = at === "" ? undefined : accounts[Number(at)];
      if (accountId === undefined) continue;
      const ids = gone.get(accountId);
      if (ids) ids.push(id);
      else gone.set(accountId, [id]);
    }
  }
  return gone;
}
