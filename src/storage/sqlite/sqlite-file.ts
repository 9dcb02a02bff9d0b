/**
 * The connections to an SQLite file: one for reads, one for transactions, and the thread that commits. While the disk
 * has no room for them, there is one read-only connection.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Log } from "../../lib/log.ts";
import type { DatabaseStep } from "../database/database.ts";
import { commitsTo } from "./file-commits.ts";
import type { FileCommits } from "./file-commits.ts";
import { openFile, connectAlone, isDiskTrouble, cacheStatements } from "./sqlite-connection.ts";

export interface SqliteFile {
  prepare(use: "writes" | "reads", sql: string): StatementSync;
  /** Same as `Database.store`. */
  store(steps: readonly DatabaseStep[]): Promise<void>;
  close(): Promise<void>;
}

interface Connection {
  prepare(sql: string): StatementSync;
  close(): void;
}

interface Connections {
  readonly reads: Connection;
  readonly writes: Connection;
  /** Absent while the disk is full. */
  readonly commits: FileCommits | undefined;
}

/** @throws Error if the file is not a database, or is unreadable */
export function openSqliteFile(file: string, log: Log): SqliteFile {
  let isClosed = false;
  let current: Connections | undefined = openEither();

  function openEither(): Connections {
    try {
      return openWhole(file);
    } catch (error) {
      if (!isDiskTrouble(error)) throw error;
      const alone = prepareConnection(connectAlone(file));
      log.error("the disk of the database accepts no writes: reads continue, and writes are answered with 503", {
        file,
        error,
      });
      return { reads: alone, writes: alone, commits: undefined };
    }
  }

  /** Returns the thread that commits, and creates it if the disk was full before. */
  function commits(): FileCommits {
    if (current?.commits) return current.commits;
    current?.reads.close();
    current = undefined;
    try {
      current = openWhole(file);
    } catch (error) {
      const alone = prepareConnection(connectAlone(file));
      current = { reads: alone, writes: alone, commits: undefined };
      throw new Error("store: the disk of the database accepts no writes", { cause: error });
    }
    log.info("the disk of the database accepts writes again", { file });
    return current.commits as FileCommits;
  }

  return {
    prepare(use, sql) {
      if (isClosed) throw new Error("use database: it is closed");
      current ??= openEither();
      return current[use].prepare(sql);
    },
    store: async (steps) => await commits().store(steps),
    async close() {
      isClosed = true;
      await current?.commits?.close();
      current?.reads.close();
      if (current?.writes !== current?.reads) current?.writes.close();
    },
  };
}

function openWhole(file: string): Connections {
  const writes = prepareConnection(openFile(file));
  let reads: Connection;
  try {
    reads = prepareConnection(openFile(file));
  } catch (error) {
    writes.close();
    throw error;
  }
  return { reads, writes, commits: commitsTo(file) };
}

function prepareConnection(connection: DatabaseSync): Connection {
  return { prepare: cacheStatements((sql) => connection.prepare(sql)), close: () => connection.close() };
}
