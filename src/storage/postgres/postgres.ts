/**
 * PostgreSQL. One connection writes, and holds an advisory lock for as long as it lives. So every process that can
 * commit holds the lock, alone or together with other nodes.
 */
import { Kysely, PostgresDialect } from "kysely";
import { Pool } from "pg";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { storeBy, transactOn } from "../database/database.ts";
import type { Database, Tables } from "../database/database.ts";
import { PostgresLine } from "./postgres-line.ts";
import { readingPool } from "./reads.ts";
import { serverAt } from "./postgres-server.ts";
import { WritingConnection } from "./writing.ts";

export interface PostgresOptions {
  readonly url: string;
  /** Name in the head of the process that may write. */
  readonly holder: string;
  /** Identifies this process, so that it can end its own connections that the server still considers alive. */
  readonly process?: string;
  /** Whether other nodes may also write. */
  readonly isShared?: boolean;
  readonly clock: Clock;
  readonly log: Log;
}

/** @throws Superseded if another process has the database open */
export async function openPostgres(options: PostgresOptions): Promise<Database> {
  const { holder, process = holder, isShared = false, clock, log } = options;
  const server = serverAt(options.url);
  const connection = new WritingConnection({ server, holder, process, isShared, clock, log });
  await connection.connect();
  const pool = new Pool({ ...server.poolOptions("postern reads"), max: 4 });
  server.follow(pool);
  pool.on("error", (error) => log.warn("a reading database connection broke", { error }));
  const line = isShared ? new PostgresLine({ server, clock, log }) : undefined;
  const writes = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: connection }) });
  const reads = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: readingPool(pool, server.bounds) }) });
  const transact: Database["transact"] = (work) => transactOn(writes, work);
  return {
    dialect: "postgres",
    reads,
    transact,
    store: (steps) => storeBy(transact, steps),
    ...(line && { shared: line }),
    beginServing: () => server.beginServing(),
    get patienceMs() {
      return server.patienceMs();
    },
    async close() {
      await line?.end();
      await pool.end();
      await connection.end();
    },
  };
}
