import { keyIdOf, newDataKey, unwrapDataKey, wrapDataKey } from "./sealing.ts";
import type { DataKey } from "./sealing.ts";
import type { Database } from "./database.ts";

/**
 * The data keys of the database, oldest first, opened with whichever of the operator's keys fits. What an older
 * operator's key wraps is wrapped again under the first one, so that the older one can be thrown away.
 * @throws Error when a data key needs an operator's key that was not given
 */
export async function dataKeys(
  database: Database,
  operatorKeys: readonly Buffer[],
  at: string,
): Promise<readonly DataKey[]> {
  const first = operatorKeys[0];
  if (!first) throw new Error("open database: no sealing key was given");
  const byId = new Map(operatorKeys.map((key) => [keyIdOf(key), key]));
  return await database.transact(async (transaction) => {
    const rows = await transaction.selectFrom("data_keys").selectAll().orderBy("created_at").orderBy("id").execute();
    const keys: DataKey[] = [];
    for (const { id, wrapped, wrapped_by } of rows) {
      const under = byId.get(wrapped_by);
      if (!under) {
        throw new Error(
          `open database: its secrets are sealed under the key "${wrapped_by}", and the sealing key given is ` +
            `"${keyIdOf(first)}"; give the key that belongs to this database`,
        );
      }
      const key = unwrapDataKey(id, wrapped, under);
      keys.push(key);
      if (under === first) continue;
      await transaction
        .updateTable("data_keys")
        .set({ wrapped: wrapDataKey(key, first), wrapped_by: keyIdOf(first) })
        .where("id", "=", id)
        .execute();
    }
    if (keys.length > 0) return keys;
    const key = newDataKey();
    await transaction
      .insertInto("data_keys")
      .values({ id: key.id, wrapped: wrapDataKey(key, first), wrapped_by: keyIdOf(first), created_at: at })
      .execute();
    return [key];
  });
}
