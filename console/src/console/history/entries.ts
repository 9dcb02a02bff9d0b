/** Groups revisions into entries of the history, and entries into days. */
import type { Revision } from "../../../../sdk/src/index.ts";
import { isLogin } from "./sentence.ts";

/** Revisions that belong to one change, the newest first. */
export interface HistoryEntry {
  readonly revisions: readonly [Revision, ...Revision[]];
  /** Whether it only records logins. */
  readonly isOnlyLogins: boolean;
}

export interface Day {
  readonly date: string;
  readonly entries: readonly HistoryEntry[];
}

/** Maximum time between two revisions of one change. */
const togetherMs = 10 * 60_000;

export function daysOf(revisions: readonly Revision[]): readonly Day[] {
  const days: { date: string; entries: HistoryEntry[] }[] = [];
  for (const revision of revisions) {
    const date = dateText(new Date(revision.created_at));
    let day = days.at(-1);
    if (day?.date !== date) days.push((day = { date, entries: [] }));
    const last = day.entries.at(-1);
    if (last && belongsTo(revision, last)) {
      day.entries[day.entries.length - 1] = { ...last, revisions: [...last.revisions, revision] };
    } else {
      day.entries.push({ revisions: [revision], isOnlyLogins: isOnlyLogins(revision) });
    }
  }
  return days;
}

/** Writes with the same reason by the same author are one change, and so are logins after each other. */
function belongsTo(revision: Revision, { revisions, isOnlyLogins: areLogins }: HistoryEntry): boolean {
  const after = revisions.at(-1) as Revision;
  if (revision.principal !== after.principal) return false;
  if (areLogins) return isOnlyLogins(revision);
  const ms = Date.parse(after.created_at) - Date.parse(revision.created_at);
  return revision.reason !== "" && revision.reason === after.reason && ms <= togetherMs;
}

function isOnlyLogins({ changes }: Revision): boolean {
  return changes.length > 0 && changes.every(isLogin);
}

function dateText(time: Date): string {
  const now = new Date();
  if (time.toDateString() === now.toDateString()) return "Today";
  now.setDate(now.getDate() - 1);
  if (time.toDateString() === now.toDateString()) return "Yesterday";
  return time.toLocaleDateString([], { weekday: "long", day: "numeric", month: "long", year: "numeric" });
}
