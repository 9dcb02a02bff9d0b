import { DatabaseSync } from "node:sqlite";

/**
 * Opens the file so that every commit returns only when it is on disk (S1).
 * @param pageBytes size of the pages of a new file; default: as SQLite is built
 */
export function openFile(file: string, pageBytes?: number): DatabaseSync {
  const connection = new DatabaseSync(file, { timeout: 5000 });
  try {
    if (pageBytes !== undefined) connection.exec(`pragma page_size = ${pageBytes}`);
    connection.exec("pragma journal_mode = wal; pragma synchronous = full");
  } catch (error) {
    connection.close();
    throw new Error(`open database "${file}": it is not a valid SQLite database`, { cause: error });
  }
  return connection;
}

/**
 * Opens a file whose disk has no room for the index of its log, and keeps that index in memory. No other connection may
 * have the file open meanwhile.
 */
export function connectAlone(file: string): DatabaseSync {
  const connection = new DatabaseSync(file, { timeout: 5000 });
  try {
    // Set before the first access, this prevents SQLite from creating the index as a file
    // (https://sqlite.org/wal.html#noshm).
    connection.exec("pragma locking_mode = exclusive; pragma synchronous = full");
    connection.prepare("select count(*) from sqlite_master").get();
  } catch (error) {
    connection.close();
    throw error;
  }
  return connection;
}

/** Whether `openFile` failed because the disk does not accept writes, and not because of the file's content. */
export function isDiskTrouble(error: unknown): boolean {
  const { errcode } = ((error as Error).cause ?? error) as { errcode?: number };
  // SQLITE_READONLY, SQLITE_IOERR, SQLITE_FULL, SQLITE_CANTOPEN: the low byte of an extended code.
  return errcode !== undefined && [8, 10, 13, 14].includes(errcode & 0xff);
}

/** Maximum cached prepared statements. There are about forty, and one per number of rows for inserts. */
const maxStatements = 500;

/** Prepares each text once. */
export function cacheStatements<Statement>(prepare: (sql: string) => Statement): (sql: string) => Statement {
  const statements = new Map<string, Statement>();
  return (sql) => {
    const known = statements.get(sql);
    if (known) return known;
    const statement = prepare(sql);
    if (statements.size >= maxStatements) statements.clear();
    statements.set(sql, statement);
    return statement;
  };
}
