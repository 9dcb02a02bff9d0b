/** A commit whose answer was lost: its writers wait for a while until it is known what became of it. */
import type { Clock } from "../../lib/clock.ts";
import { Superseded } from "../database/database.ts";
import type { CommitInDoubt } from "../database/database.ts";

/** How long the writers of a commit in doubt wait to learn its outcome. */
const doubtMs = 10_000;
const doubtPauseMs = 250;

/**
 * Asks until it is known whether the commit was stored.
 * @param settle rejects while that cannot be found out
 * @throws CommitInDoubt `doubt`, when that takes too long
 */
export async function settled(doubt: CommitInDoubt, clock: Clock, settle: () => Promise<boolean>): Promise<boolean> {
  const until = clock.monotonic() + doubtMs;
  for (;;) {
    try {
      return await settle();
    } catch (error) {
      if (error instanceof Superseded) throw error;
      if (clock.monotonic() >= until) throw doubt;
    }
    await new Promise<void>((resume) => void clock.after(doubtPauseMs, resume));
  }
}
