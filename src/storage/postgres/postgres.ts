/**
 * PostgreSQL. One connection writes, and holds an advisory lock for as long as it lives: who can commit holds the
 * lock. It is made again when it breaks, so a failover needs no restart (S4).
 */
import { setTimeout as delay } from "node:timers/promises";
import { Kysely, PostgresDialect } from "kysely";
import type { PostgresPool, PostgresPoolClient } from "kysely";
import { Client, Pool, types } from "pg";
import type { ClientConfig } from "pg";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { storeBy, Superseded, transactOn } from "../database/database.ts";
import type { Database, Tables } from "../database/database.ts";
import { leavesConnection, readingPool } from "./reads.ts";

/** Any number that nothing else in the same database uses. */
const lockKey = 7_205_759_403_792_794;
/** A process that was killed a moment ago loses its lock once the server notices. */
const lockTries = 15;
const lockPauseMs = 100;
const firstBackoffMs = 100;
const lastBackoffMs = 5000;
const int8 = 20;
const limits = { connectionTimeoutMillis: 5000, query_timeout: 30_000, keepAlive: true } as const;

export interface PostgresOptions {
  readonly url: string;
  /** Names this process, so that it can end connections of its own that the server still believes in. */
  readonly holder: string;
  readonly clock: Clock;
  readonly log: Log;
}

/** @throws Superseded when another process has the database open */
export async function openPostgres(options: PostgresOptions): Promise<Database> {
  const connection = new WritingConnection(options);
  await connection.connect();
  const pool = new Pool({ ...configFor(options.url, "postern reads"), max: 4 });
  pool.on("error", (error) => options.log.warn("a reading database connection broke", { error }));
  const writes = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: connection }) });
  const reads = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: readingPool(pool) }) });
  const transact: Database["transact"] = (work) => transactOn(writes, work);
  return {
    dialect: "postgres",
    reads,
    transact,
    store: (steps) => storeBy(transact, steps),
    async close() {
      await pool.end();
      await connection.end();
    },
  };
}

function configFor(connectionString: string, applicationName: string): ClientConfig {
  return {
    connectionString,
    application_name: applicationName,
    ...limits,
    types: {
      // Revisions and times stay far below 2⁵³.
      getTypeParser: ((oid: number, format: "text") =>
        oid === int8 ? Number : types.getTypeParser(oid, format)) as typeof types.getTypeParser,
    },
  };
}

/** The one writing connection, in the form of a pool as Kysely wants it. */
class WritingConnection implements PostgresPool {
  readonly options = {};
  readonly #options: PostgresOptions;
  readonly #name: string;
  #current: { readonly client: Client; readonly handle: PostgresPoolClient } | undefined;
  #connecting: Promise<PostgresPoolClient> | undefined;
  #connectedBefore = false;
  /** Whom the head named when the lock was first had; this process takes the database over from them. */
  #predecessor: string | undefined;
  /** Set once the head names another process: this one must not hold the lock again. */
  #superseded: Superseded | undefined;
  #ended = false;

  constructor(options: PostgresOptions) {
    this.#options = options;
    this.#name = `postern ${options.holder}`;
  }

  /** The connection, made anew when it has broken. */
  async connect(): Promise<PostgresPoolClient> {
    if (this.#ended) throw new Error("use database: it is closed");
    if (this.#superseded) throw this.#superseded;
    if (this.#current) return this.#current.handle;
    this.#connecting ??= this.#establish().finally(() => {
      this.#connecting = undefined;
    });
    return await this.#connecting;
  }

  async end(): Promise<void> {
    this.#ended = true;
    await this.#connecting?.catch(() => undefined);
    const current = this.#current;
    this.#current = undefined;
    await current?.client.end().catch(() => undefined);
  }

  async #establish(): Promise<PostgresPoolClient> {
    const client = new Client(configFor(this.#options.url, this.#name));
    client.on("error", (error) => this.#lose(client, error));
    client.on("end", () => this.#lose(client, new Error("the server closed the connection")));
    try {
      await client.connect();
      await checkWritable(client);
      await this.#lock(client);
      if (this.#connectedBefore) await this.#checkHolder(client);
      else this.#predecessor = await holderIn(client);
      await checkDurable(client, this.#options.log);
    } catch (error) {
      client.end().catch(() => undefined);
      if (error instanceof Superseded) {
        this.#superseded = this.#connectedBefore ? error : undefined;
        throw error;
      }
      const { message, code = "no answer" } = error as NodeJS.ErrnoException;
      throw new Error(
        `connect to database: no connection that can write (${message || code}): ` +
          "see that the server runs, takes writes, and lets this user in",
        { cause: error },
      );
    }
    if (this.#connectedBefore) this.#options.log.info("connected to the database again");
    this.#connectedBefore = true;
    const current = { client, handle: this.#handleOf(client) };
    this.#current = current;
    return current.handle;
  }

  #handleOf(client: Client): PostgresPoolClient {
    const query = async (text: string, values: readonly unknown[]): Promise<unknown> => {
      try {
        return await client.query(text, values as unknown[]);
      } catch (error) {
        if (!leavesConnection(error)) this.#lose(client, error as Error);
        throw error;
      }
    };
    return {
      query,
      release: (destroy?: boolean) => {
        if (destroy) this.#lose(client, new Error("a transaction could not be undone"));
      },
      connect: () => Promise.reject(new Error("connect: it is connected")),
      end: () => undefined,
    } as unknown as PostgresPoolClient;
  }

  #lose(client: Client, error: Error): void {
    if (this.#current?.client !== client) return;
    this.#current = undefined;
    client.end().catch(() => undefined);
    if (this.#ended) return;
    this.#options.log.warn("the writing database connection broke", { error });
    this.#reconnectLater(firstBackoffMs);
  }

  /** Writes reconnect by themselves; this does so without one, to hold the lock again soon. */
  #reconnectLater(backoffMs: number): void {
    this.#options.clock.after(backoffMs, () => {
      if (this.#ended || this.#current) return;
      this.connect().catch((error: unknown) => {
        this.#options.log.warn("the database does not answer", { error });
        if (!this.#superseded) this.#reconnectLater(Math.min(backoffMs * 2, lastBackoffMs));
      });
    });
  }

  /**
   * Who has the lock says nothing: it may be a connection of one's own that the server has not noticed the end of, or
   * a start that will be refused. Whoever has taken the database over has put its name into the head.
   */
  async #checkHolder(client: Client): Promise<void> {
    const holder = await holderIn(client);
    if (holder === undefined || holder === this.#options.holder || holder === this.#predecessor) return;
    throw new Superseded("use database: another process has taken it over; this one must be restarted");
  }

  async #lock(client: Client): Promise<void> {
    for (let tries = 0; tries < lockTries; tries += 1) {
      const { rows } = await client.query<{ locked: boolean }>("select pg_try_advisory_lock($1) as locked", [lockKey]);
      if (rows[0]?.locked) return;
      if (this.#connectedBefore) {
        await this.#checkHolder(client);
        const own = "select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1";
        await client.query(`${own} and pid <> pg_backend_pid()`, [this.#name]);
      }
      await delay(lockPauseMs);
    }
    if (!this.#connectedBefore) {
      throw new Superseded("open database: another process has it open; stop that one first");
    }
    throw new Error("lock database: another connection has its lock, and has not taken it over; it is tried again");
  }
}

/** Whom the head names; undefined in a database that nobody has used yet. */
async function holderIn(client: Client): Promise<string | undefined> {
  const { rows } = await client.query<{ there: boolean }>("select to_regclass('head') is not null as there");
  if (!rows[0]?.there) return undefined;
  const head = await client.query<{ holder: string }>("select holder from head where id = 1");
  return head.rows[0]?.holder;
}

async function checkWritable(client: Client): Promise<void> {
  const { rows } = await client.query<{ standby: boolean }>("select pg_is_in_recovery() as standby");
  if (rows[0]?.standby) throw new Error("use database: the server is a standby and takes no writes");
}

/** Answered means on disk (S1): asynchronous commits are turned off for this connection. */
async function checkDurable(client: Client, log: Log): Promise<void> {
  const { rows } = await client.query<{ synchronous_commit: string }>("show synchronous_commit");
  if (rows[0]?.synchronous_commit === "off") await client.query("set synchronous_commit = on");
  const fsync = await client.query<{ fsync: string }>("show fsync");
  if (fsync.rows[0]?.fsync === "off") {
    log.warn("the database server runs with fsync off: a crash of its machine can lose answered writes");
  }
}
