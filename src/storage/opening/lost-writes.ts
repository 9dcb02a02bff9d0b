/** Handles a lone server whose database is not in the state that the server last stored. */
import { makeSuperseded } from "../database/database.ts";
import { readHead } from "../commits/missed.ts";
import { readAnew } from "../commits/read-anew.ts";
import type { ReadAnewOptions } from "../commits/read-anew.ts";
import type { Head } from "../rows/record.ts";
import type { Sealer } from "../sealing/sealing.ts";
import { verifyHistory } from "../history/verify-history.ts";

/** Returns `recoverLostWrites` for one store. */
export function makeRecovery(options: Parameters<typeof recoverLostWrites>[0]) {
  return (from: Head, moved: (head: Head) => void): Promise<void> => recoverLostWrites(options, from, moved);
}

/**
 * Continues from the database's state if that is an earlier part of what this process has stored. The rest was lost in
 * a failover, or in a crash of a server that confirms commits before they are on disk.
 * @param from the last state that this process stored
 * @param moved gets the database's head, before subscribers get anything
 * @throws Superseded if another process has taken over the database
 */
async function recoverLostWrites(
  options: ReadAnewOptions & { readonly sealer: Sealer },
  from: Head,
  moved: (head: Head) => void,
): Promise<void> {
  const { database, documents, sealer, log } = options;
  const head = await readHead(database.reads);
  const isOwn = database.dialect === "postgres" && head.holder === from.holder && head.revision < from.revision;
  if (!isOwn) throw makeSuperseded();
  const { brokenAt } = await verifyHistory(database.reads, sealer, documents);
  if (brokenAt !== undefined) {
    throw new Error(
      `store writes: the database has lost the writes after revision ${head.revision}, and its history is damaged at ` +
        `revision ${brokenAt}; restore a backup`,
    );
  }
  log.error(
    "the database has lost writes that this server had confirmed: the server continues with the database's state",
    {
      revision: from.revision,
      databaseRevision: head.revision,
    },
  );
  await readAnew(options, moved);
}
