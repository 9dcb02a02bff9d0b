/** A commit whose response was lost. Its writers wait a limited time for the outcome. */
import type { Clock } from "../../lib/clock.ts";
import { Superseded } from "../database/database.ts";
import type { CommitInDoubt } from "../database/database.ts";

/** Maximum time for which the writers of a commit in doubt wait for its outcome. */
const doubtMs = 3_000;
const doubtPauseMs = 250;

/**
 * Retries until the outcome of the commit is known.
 * @param settle rejects while the outcome cannot be determined
 * @throws CommitInDoubt `doubt`, if that takes too long
 */
export async function settleDoubt(
  doubt: CommitInDoubt,
  clock: Clock,
  settle: () => Promise<boolean>,
): Promise<boolean> {
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
