/** The list of revisions of an account, newest first. */
import type { Database } from "../database/database.ts";
import type { History } from "../store.ts";

export async function listRevisions(
  reads: Database["reads"],
  ...[accountId, { limit, before, principal, operation, kind, objectId }]: Parameters<History["revisions"]>
): ReturnType<History["revisions"]> {
  let query = reads.selectFrom("revisions").selectAll().where("account_id", "=", accountId);
  if (before !== undefined) query = query.where("revision", "<", before);
  if (principal !== undefined) query = query.where("principal", "=", principal);
  if (operation !== undefined) query = query.where("operation", "=", operation);
  if (kind !== undefined || objectId !== undefined) {
    query = query.where((is) => {
      let changed = is
        .selectFrom("history")
        .select("history.revision")
        .whereRef("history.revision", "=", "revisions.revision")
        .where("history.account_id", "=", accountId);
      if (kind !== undefined) changed = changed.where("history.kind", "=", kind);
      if (objectId !== undefined) changed = changed.where("history.id", "=", objectId);
      return is.exists(changed);
    });
  }
  const rows = await query
    .orderBy("revision", "desc")
    .limit(limit + 1)
    .execute();
  return { revisions: rows.slice(0, limit), more: rows.length > limit };
}
