/**
 * The one writing connection, in the form of a pool for Kysely. It holds an advisory lock for as long as it lives. It
 * reconnects after a break, so a failover needs no restart (S4).
 */
import { setTimeout as delay } from "node:timers/promises";
import type { PostgresPool, PostgresPoolClient } from "kysely";
import type { Client } from "pg";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { Superseded, Unconnected, Unfit } from "../database/database.ts";
import { leavesConnection } from "./reads.ts";
import { describeError } from "./postgres-server.ts";
import type { Server } from "./postgres-server.ts";
import { checkSession } from "./session-settings.ts";

/** Any number that nothing else in the same database uses. */
const lockKey = 7_205_759_403_792_794;
/** A process that was just killed loses its lock only when the server notices. */
const lockTries = 15;
const lockPauseMs = 100;
const firstBackoffMs = 100;
const lastBackoffMs = 5000;
/**
 * Maximum time for which a node that stops in the middle of a commit blocks the commits of other nodes, milliseconds.
 */
const stalledCommitMs = 4000;

export interface WritingOptions {
  readonly server: Server;
  /** Name in the head of the process that may write. */
  readonly holder: string;
  /**
   * Identifies the connections of this process, so that it can end connections that the server still considers alive.
   */
  readonly process: string;
  /** Whether other nodes of the same holder may also write. */
  readonly isShared: boolean;
  readonly clock: Clock;
  readonly log: Log;
}

export class WritingConnection implements PostgresPool {
  readonly options = {};
  readonly #options: WritingOptions;
  readonly #name: string;
  #current: { readonly client: Client; readonly handle: PostgresPoolClient } | undefined;
  #connecting: Promise<PostgresPoolClient> | undefined;
  #connectedBefore = false;
  /** Name in the head when this process first got the lock. This process takes over the database from that holder. */
  #predecessor: string | undefined;
  /** Set once the head names another process. This process must not take the lock again. */
  #superseded: Superseded | undefined;
  #ended = false;

  constructor(options: WritingOptions) {
    this.#options = options;
    this.#name = `postern ${options.process}`;
  }

  /** Returns the connection, and reconnects if it broke. */
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
    let client: Client | undefined;
    try {
      client = await this.#options.server.connect(this.#name, (one, error) => this.#lose(one, error));
      if (!this.#connectedBefore) await this.#checkSession(client);
      await this.#lock(client);
      if (this.#connectedBefore) await this.#checkHolder(client);
      else this.#predecessor = await holderIn(client);
      await this.#prepare(client);
    } catch (error) {
      client?.end().catch(() => undefined);
      if (error instanceof Unfit) throw error;
      if (error instanceof Superseded) {
        this.#superseded = this.#connectedBefore ? error : undefined;
        throw error;
      }
      throw new Unconnected(
        `connect to database: no connection that can write (${describeError(error)}): check that the server runs, accepts writes, and allows this user`,
        { cause: error },
      );
    }
    if (this.#connectedBefore) this.#options.log.info("connected to the database again");
    this.#connectedBefore = true;
    const current = { client, handle: this.#handleOf(client) };
    this.#current = current;
    return current.handle;
  }

  async #checkSession(client: Client): Promise<void> {
    const other = await this.#options.server.connect("postern", () => undefined);
    try {
      await checkSession(client, other);
    } finally {
      await other.end().catch(() => undefined);
    }
  }

  #handleOf(client: Client): PostgresPoolClient {
    const query = async (text: string, values: readonly unknown[]): Promise<unknown> => {
      try {
        return await client.query({ text, values: values as unknown[], ...this.#options.server.bounds() });
      } catch (error) {
        if (!leavesConnection(error)) this.#lose(client, error as Error);
        throw error;
      }
    };
    return {
      query,
      release: (destroy?: boolean) => {
        if (destroy) this.#lose(client, new Error("a transaction could not be rolled back"));
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

  /** Writes reconnect automatically. This reconnects without a write, to get the lock back soon. */
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
   * The lock does not show the holder. Its connection may be an old one of this process that the server still considers
   * alive, or one of a start that will be rejected. A process that has taken over the database has its name in the
   * head.
   */
  async #checkHolder(client: Client): Promise<void> {
    const holder = await holderIn(client);
    if (holder === undefined || holder === this.#options.holder || holder === this.#predecessor) return;
    throw new Superseded("use database: another process has taken it over; restart this server");
  }

  /** Takes the lock exclusively, or shared with the other nodes. A lone process and nodes never hold it together. */
  async #lock(client: Client): Promise<void> {
    const { isShared } = this.#options;
    const lock = `pg_try_advisory_lock${isShared ? "_shared" : ""}`;
    for (let tries = 0; tries < lockTries; tries += 1) {
      const { rows } = await client.query<{ locked: boolean }>(`select ${lock}($1) as locked`, [lockKey]);
      if (rows[0]?.locked) return;
      if (this.#connectedBefore) {
        await this.#checkHolder(client);
        await this.#endOwn(client);
      }
      await delay(lockPauseMs);
    }
    if (!this.#connectedBefore) {
      throw new Superseded(
        isShared
          ? "open database: another process has it open without --cluster; stop it first, or start it with --cluster"
          : "open database: another process has it open; stop it first",
      );
    }
    throw new Error("lock database: another connection holds its lock, but has not taken it over; retrying");
  }

  /** Ends earlier connections of this process that the server still considers alive, with their transactions. */
  async #endOwn(client: Client): Promise<void> {
    const own = "select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1";
    await client.query(`${own} and pid <> pg_backend_pid()`, [this.#name]);
  }

  /** A response means the data is on disk (S1), so asynchronous commits are turned off for this connection. */
  async #prepare(client: Client): Promise<void> {
    const { isShared, log } = this.#options;
    if (isShared) {
      if (this.#connectedBefore) await this.#endOwn(client);
      await client.query(`set idle_in_transaction_session_timeout = ${stalledCommitMs}`);
    }
    const { rows } = await client.query<{ synchronous_commit: string }>("show synchronous_commit");
    if (rows[0]?.synchronous_commit === "off") await client.query("set synchronous_commit = on");
    const fsync = await client.query<{ fsync: string }>("show fsync");
    if (fsync.rows[0]?.fsync === "off") {
      log.warn("the database server runs with fsync off: a crash of its machine can lose confirmed writes");
    }
  }
}

/** Returns the holder in the head; undefined in a database that was never used. */
async function holderIn(client: Client): Promise<string | undefined> {
  const { rows } = await client.query<{ there: boolean }>("select to_regclass('head') is not null as there");
  if (!rows[0]?.there) return undefined;
  const head = await client.query<{ holder: string }>("select holder from head where id = 1");
  return head.rows[0]?.holder;
}
