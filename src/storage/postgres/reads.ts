/** The connections that only read: one that has broken, or does not answer in time, is not used again. */
import type { PostgresPool, PostgresPoolClient } from "kysely";
import { DatabaseError } from "pg";
import type { Pool, PoolClient } from "pg";

/** A pool in the form that Kysely wants. */
export function readingPool(pool: Pool): PostgresPool {
  const handles = new WeakMap<PoolClient, PostgresPoolClient>();
  return {
    options: {},
    async connect() {
      const client = await pool.connect();
      const known = handles.get(client);
      if (known) return known;
      const handle = handleOf(client);
      handles.set(client, handle);
      return handle;
    },
    end: () => pool.end(),
  } as unknown as PostgresPool;
}

function handleOf(client: PoolClient): PostgresPoolClient {
  let broken = false;
  // The pool hears of what breaks between its users, and nobody of what breaks between two queries of one.
  client.on("error", () => (broken = true));
  return {
    async query(text: string, values: readonly unknown[]) {
      try {
        return await client.query(text, values.map(findable));
      } catch (error) {
        broken ||= !leavesConnection(error);
        throw error;
      }
    },
    release: (destroy?: boolean) => client.release(broken || destroy === true),
  } as unknown as PostgresPoolClient;
}

/** Whether the connection is as good as before: not after what is no answer of the server, or its last one. */
export function leavesConnection(error: unknown): boolean {
  // Classes of SQLSTATE: 08 connection exception, 57P operator intervention (shutdown, crash, cut off).
  return error instanceof DatabaseError && !/^(08|57P)/.test(error.code ?? "08");
}

/**
 * What is looked for may be any text that a client has sent, and PostgreSQL takes no NUL in one. No text that is stored
 * has a NUL or U+0001, so the one in place of the other is as unknown, and sorts alike.
 */
function findable(value: unknown): unknown {
  return typeof value === "string" ? value.replaceAll("\0", "\u0001") : value;
}
