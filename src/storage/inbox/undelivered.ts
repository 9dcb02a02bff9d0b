import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";

/** Returns how many webhooks in the SQLite file of a stopped server wait for their delivery. */
export function countUndelivered(file: string): number {
  if (!existsSync(file)) return 0;
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const states = "state in ('waiting', 'blocked', 'sending')";
    return Number(database.prepare(`select count(*) as count from inbox_messages where ${states}`).get()?.["count"]);
  } finally {
    database.close();
  }
}
