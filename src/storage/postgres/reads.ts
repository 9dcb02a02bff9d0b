/** The connections that only read. A connection that broke or did not respond in time is not used again. */
import type { PostgresPool, PostgresPoolClient } from "kysely";
import { DatabaseError } from "pg";
import type { Pool, PoolClient } from "pg";
import type { StatementBounds } from "./postgres-server.ts";

/** Returns the pool in the form that Kysely expects. */
export function readingPool(pool: Pool, bounds: () => StatementBounds): PostgresPool {
  const handles = new WeakMap<PoolClient, PostgresPoolClient>();
  return {
    options: {},
    async connect() {
      const client = await pool.connect();
      const known = handles.get(client);
      if (known) return known;
      const handle = handleOf(client, bounds);
      handles.set(client, handle);
      return handle;
    },
    end: () => pool.end(),
  } as unknown as PostgresPool;
}

function handleOf(client: PoolClient, bounds: () => StatementBounds): PostgresPoolClient {
  let broken = false;
  // The pool handles errors between two users of a connection. Errors between two queries of one user need this
  // listener.
  client.on("error", () => (broken = true));
  return {
    async query(text: string, values: readonly unknown[]) {
      try {
        return await client.query({ text, values: values.map(replaceNul), ...bounds() });
      } catch (error) {
        broken ||= !leavesConnection(error);
        throw error;
      }
    },
    release: (destroy?: boolean) => client.release(broken || destroy === true),
  } as unknown as PostgresPoolClient;
}

/**
 * Whether the connection is still usable. It is not if the error did not come from the server, or was the server's last
 * message.
 */
export function leavesConnection(error: unknown): boolean {
  // Classes of SQLSTATE: 08 connection exception, 57P operator intervention (shutdown, crash, cut off).
  return error instanceof DatabaseError && !/^(08|57P)/.test(error.code ?? "08");
}

/**
 * A client can search for any text, but PostgreSQL rejects NUL in text. No stored text contains NUL or U+0001, so
 * U+0001 instead of NUL also matches nothing, and sorts in the same place.
 */
function replaceNul(value: unknown): unknown {
  return typeof value === "string" ? value.replaceAll("\0", "\u0001") : value;
}
