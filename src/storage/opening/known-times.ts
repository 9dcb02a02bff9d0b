/** The times that a start uses for decisions, from the database and the operator. */
import { formatTimestamp } from "../../lib/clock.ts";
import type { Clock } from "../../lib/clock.ts";
import { makeSettledTime } from "../../lib/settled-time.ts";
import type { SettledTime } from "../../lib/settled-time.ts";
import type { StorageSettings } from "../../settings/storage.ts";
import { Unfit } from "../database/database.ts";
import type { Database } from "../database/database.ts";
import { KnownTime } from "../history/known-time.ts";
import { readNewestTime } from "../history/prune.ts";
import { dayMs } from "../../lib/durations.ts";

/** @throws Unfit if the confirmed date is in the future by the server's clock */
export async function readTimes(
  { reads }: Database,
  settings: StorageSettings,
  clock: Clock,
): Promise<{ readonly known: KnownTime; readonly time: SettledTime }> {
  const newest = await readNewestTime(reads);
  const stored = await reads.selectFrom("known_time").select("at_ms").where("id", "=", 1).executeTakeFirst();
  const confirmed = confirmedTime(settings, clock);
  return {
    known: new KnownTime(clock, settings.historyDays, stored?.at_ms ?? newest, confirmed),
    time: makeSettledTime(clock, confirmed ?? latestKnownTime(stored?.at_ms, newest)),
  };
}

/** A revision far ahead of the stored time is not evidence: a wrong clock may have dated it. */
function latestKnownTime(stored: number | undefined, newest: number | undefined): number | undefined {
  if (stored === undefined || newest === undefined) return stored ?? newest;
  return newest > stored && newest <= stored + dayMs ? newest : stored;
}

function confirmedTime({ clockConfirmed }: StorageSettings, clock: Clock): number | undefined {
  if (clockConfirmed === undefined || clockConfirmed <= clock.now() + 2 * dayMs) return clockConfirmed;
  const [given, now] = [formatTimestamp(clockConfirmed - dayMs), formatTimestamp(clock.now())].map((at) =>
    at.slice(0, 10),
  );
  throw new Unfit(`start server: --clock-confirmed ${given} is in the future: by the server's clock it is ${now}`);
}
