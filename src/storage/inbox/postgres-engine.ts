import { Pool } from "pg";
import type { PoolClient } from "pg";
import type { Log } from "../../lib/log.ts";
import { leavesConnection } from "../postgres/reads.ts";
import { serverAt } from "../postgres/postgres-server.ts";
import type { InboxEngine, InboxStep, InboxRow } from "./inbox-engine.ts";
import { packed } from "./packed-messages.ts";
import { putMessages } from "./postgres-put.ts";
import { tablesOf } from "./inbox-tables.ts";

/** Held while a node creates the tables, because `create table if not exists` of two nodes can conflict. */
const creationKey = 7_205_759_403_792_797;

const durably = `select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') = 'off'`;

const maxConnections = 4;

/** Nothing was written, so another connection can run the transaction. Idle connections break unnoticed. */
class NotBegun extends Error {}

/** Creates the tables with the first request, and uses connections beside those of the configuration. */
export function postgresEngine(url: string, log: Log): InboxEngine {
  const server = serverAt(url);
  server.beginServing();
  let pool: Promise<Pool> | undefined;

  const open = async (): Promise<Pool> => {
    const first = await server.connect("postern inbox", () => undefined);
    try {
      await first.query("begin");
      await first.query("select pg_advisory_xact_lock($1)", [creationKey]);
      for (const text of tablesOf("postgres")) if (!(await isCreated(first, text))) await first.query(text);
      await first.query("commit");
    } finally {
      await first.end().catch(() => undefined);
    }
    const opened = new Pool({ ...server.poolOptions("postern inbox"), max: maxConnections });
    server.follow(opened);
    opened.on("error", (error) => log.warn("a database connection of the inboxes broke", { error }));
    // A stored message is on disk, so asynchronous commits are turned off.
    opened.on("connect", (client) => void client.query(durably).catch(ignoreError));
    return opened;
  };
  const using = async <T>(work: (client: PoolClient) => Promise<T>): Promise<T> => {
    pool ??= open();
    const opened = await pool.catch((error: unknown) => {
      pool = undefined;
      throw error;
    });
    const client = await opened.connect();
    let failed: unknown;
    client.on("error", ignoreError);
    try {
      return await work(client);
    } catch (error) {
      failed = error;
      throw error;
    } finally {
      client.off("error", ignoreError);
      client.release(failed !== undefined && !leavesConnection(failed));
    }
  };
  const run = async (client: PoolClient, { sql, parameters }: InboxStep): Promise<readonly InboxRow[]> => {
    const { rows } = await client.query({ text: numberParameters(sql), values: [...parameters], ...server.bounds() });
    return rows as readonly InboxRow[];
  };
  const begin = async (client: PoolClient): Promise<void> => {
    try {
      await client.query({ text: "begin", ...server.bounds() });
    } catch (cause) {
      throw new NotBegun("begin a transaction of the inboxes: the connection is broken", { cause });
    }
  };
  const write: InboxEngine["write"] = (steps, messages = []) =>
    using(async (client) => {
      await begin(client);
      try {
        const results: (readonly InboxRow[])[] = [];
        for (const step of steps) results.push(await run(client, step));
        if (messages.length > 0) {
          const { text, sealed } = packed(messages);
          results.push(await run(client, { sql: putMessages, parameters: [text, sealed] }));
        }
        await client.query({ text: "commit", ...server.bounds() });
        return results;
      } catch (error) {
        if (leavesConnection(error)) await client.query("rollback").catch(ignoreError);
        throw error;
      }
    });
  return {
    dialect: "postgres",
    async write(...work) {
      for (let left = maxConnections; left > 0; left -= 1) {
        try {
          return await write(...work);
        } catch (error) {
          if (!(error instanceof NotBegun)) throw error;
        }
      }
      return await write(...work);
    },
    read: (step) => using((client) => run(client, step)),
    async close() {
      await (await pool?.catch(() => undefined))?.end();
    },
  };
}

/**
 * Whether the table or index of a `create … if not exists` is there. Creating an index locks its table first, and the
 * locks of several tables can be in a circle with those of another node's writes.
 */
async function isCreated(client: Pick<PoolClient, "query">, text: string): Promise<boolean> {
  const name = /^\s*create (?:table|index) if not exists (\w+)/.exec(text)?.[1];
  const { rows } = await client.query("select to_regclass($1) is not null as found", [name]);
  return (rows as readonly { readonly found: boolean }[])[0]?.found === true;
}

/** An error of a broken connection also rejects the query that waits for it. */
function ignoreError(): void {}

const texts = new Map<string, string>();

/** Returns the statement with `$1`, `$2` and so on instead of `?`. */
function numberParameters(sql: string): string {
  const known = texts.get(sql);
  if (known !== undefined) return known;
  let at = 0;
  const text = sql.replaceAll("?", () => `$${(at += 1)}`);
  if (texts.size < 1000) texts.set(sql, text);
  return text;
}
