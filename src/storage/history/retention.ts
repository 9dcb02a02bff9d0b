import { Refusal } from "../../lib/errors.ts";

/** The part of the history that is still stored. */
export interface Retained {
  /** Oldest revision still stored. It grows before anything is deleted. */
  oldest: number;
  /** Reloads the value if other nodes may have pruned. */
  refresh?(): Promise<void>;
}

/** @throws Refusal `revision_pruned` if the state as of `revision` is no longer known */
export function checkRetained({ oldest }: Retained, revision: number): void {
  if (revision >= oldest || oldest <= 1) return;
  throw new Refusal(
    "revision_pruned",
    `revision ${revision} was deleted: the oldest stored revision is ${oldest} (setting --history-days)`,
    { oldest_revision: String(oldest) },
  );
}

/** Returns the result of `read` for `revision`, or throws if pruning overtook the read. */
export async function whileRetained<T>(retained: Retained, revision: number, read: () => Promise<T>): Promise<T> {
  checkRetained(retained, revision);
  const found = await read();
  await retained.refresh?.();
  checkRetained(retained, revision);
  return found;
}
