/** Location of a database, from its setting. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";

/** Whether the setting names a PostgreSQL database instead of a file. */
export function isUrl(database: string): boolean {
  return /^postgres(ql)?:\/\//.test(database);
}

/** Whether the database may hold data: its file exists, or it is on a server. */
export function mayHold(database: string, dataDirectory: string): boolean {
  return isUrl(database) || existsSync(resolve(dataDirectory, database));
}

/** Returns the file of the inboxes, beside an SQLite database. */
export function inboxFile(database: string): string {
  return database.endsWith(".db") ? `${database.slice(0, -3)}-inbox.db` : `${database}-inbox`;
}
