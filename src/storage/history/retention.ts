import { Refusal } from "../../lib/errors.ts";

/** Which part of the history there still is. */
export interface Retained {
  /** The oldest revision that is kept. It grows before anything is deleted. */
  oldest: number;
  /** Learns it anew where other nodes may have pruned. */
  refresh?(): Promise<void>;
}

/** @throws Refusal `revision_pruned` when the state as of `revision` cannot be told any more */
export function checkRetained({ oldest }: Retained, revision: number): void {
  if (revision >= oldest || oldest <= 1) return;
  throw new Refusal(
    "revision_pruned",
    `revision ${revision} was deleted: the oldest stored revision is ${oldest} (setting --history-days)`,
    { oldest_revision: String(oldest) },
  );
}

/** What `read` finds about `revision`; as it was, or not at all: pruning may overtake a reader. */
export async function whileRetained<T>(retained: Retained, revision: number, read: () => Promise<T>): Promise<T> {
  checkRetained(retained, revision);
  const found = await read();
  await retained.refresh?.();
  checkRetained(retained, revision);
  return found;
}
