/** A node's connection for notifications from other nodes, and for queries that must not wait behind long reads. */
import type { Socket } from "node:net";
import type { Client } from "pg";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { channel } from "../database/database.ts";
import type { SharedDatabase } from "../database/database.ts";
import { leavesConnection } from "./reads.ts";
import type { Server } from "./postgres-server.ts";

/** Held while a node starts, because the start may change the tables. */
const startKey = 7_205_759_403_792_795;
const firstBackoffMs = 100;
const lastBackoffMs = 2000;

export interface LineOptions {
  readonly server: Server;
  readonly clock: Clock;
  readonly log: Log;
}

export class PostgresLine implements SharedDatabase {
  readonly #options: LineOptions;
  #client: Client | undefined;
  #connecting: Promise<Client> | undefined;
  #heard: (notice: string | undefined) => void = () => undefined;
  #ended = false;
  /** Serializes queries: one at a time. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: LineOptions) {
    this.#options = options;
  }

  async connect(): Promise<Client> {
    if (this.#ended) throw new Error("use database: it is closed");
    if (this.#client) return this.#client;
    this.#connecting ??= this.#establish().finally(() => {
      this.#connecting = undefined;
    });
    return await this.#connecting;
  }

  async query<Row>(text: string, parameters: readonly unknown[] = []): Promise<readonly Row[]> {
    const ask = async (): Promise<readonly Row[]> => {
      const client = await this.connect();
      try {
        const { rows } = await client.query({ text, values: [...parameters], ...this.#options.server.bounds() });
        return rows as readonly Row[];
      } catch (error) {
        // Later questions would wait behind one that has no answer.
        if (!leavesConnection(error)) this.#lose(client, error as Error);
        throw error;
      }
    };
    const answer = this.#last.then(ask, ask);
    this.#last = answer.catch(() => undefined);
    return await answer;
  }

  get localAddress(): string | undefined {
    const { stream } = (this.#client ?? {}) as { readonly stream?: Socket };
    return stream?.localAddress;
  }

  listen(heard: (notice: string | undefined) => void): void {
    this.#heard = heard;
  }

  async alone<T>(work: () => Promise<T>): Promise<T> {
    await this.query("select pg_advisory_lock($1)", [startKey]);
    try {
      return await work();
    } finally {
      // If the connection broke meanwhile, the lock is already released.
      await this.query("select pg_advisory_unlock($1)", [startKey]).catch(() => undefined);
    }
  }

  async end(): Promise<void> {
    this.#ended = true;
    await this.#connecting?.catch(() => undefined);
    const client = this.#client;
    this.#client = undefined;
    await client?.end().catch(() => undefined);
  }

  async #establish(): Promise<Client> {
    const client = await this.#options.server.connect("postern nodes", (one, error) => this.#lose(one, error));
    client.on("notification", ({ payload = "" }) => this.#heard(payload));
    try {
      await client.query(`listen ${channel}`);
    } catch (error) {
      client.end().catch(() => undefined);
      throw error;
    }
    this.#client = client;
    this.#heard(undefined);
    return client;
  }

  #lose(client: Client, error: Error): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    client.end().catch(() => undefined);
    if (this.#ended) return;
    this.#options.log.warn("the database connection to other nodes broke", { error });
    this.#reconnectLater(firstBackoffMs);
  }

  #reconnectLater(backoffMs: number): void {
    this.#options.clock.after(backoffMs, () => {
      if (this.#ended || this.#client) return;
      this.connect().catch(() => this.#reconnectLater(Math.min(backoffMs * 2, lastBackoffMs)));
    });
  }
}
