/** Where a database is, as its setting says. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";

/** Whether it is a PostgreSQL database, rather than a file. */
export function isUrl(database: string): boolean {
  return /^postgres(ql)?:\/\//.test(database);
}

/** Whether there may be something in it: a file is there, or a server has to be asked. */
export function mayHold(database: string, dataDirectory: string): boolean {
  return isUrl(database) || existsSync(resolve(dataDirectory, database));
}
