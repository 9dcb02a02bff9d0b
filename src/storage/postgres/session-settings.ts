/** Checks that a connection has its own session, which locks and notifications need. */
import type { Client } from "pg";
import { Unfit } from "../database/database.ts";

/**
 * Detects poolers that lend a server's session per transaction. They give `client` another session while the first is
 * lent to `other`, or lend the same session to both.
 * @throws Unfit
 */
export async function checkSession(client: Client, other: Client): Promise<void> {
  const first = await sessionOf(client);
  await other.query("begin");
  const lent = await sessionOf(other);
  const isOwn = lent !== first && (await sessionOf(client)) === first;
  await other.query("rollback");
  if (isOwn) return;
  throw new Unfit(
    "open database: its connection pooler shares sessions between transactions, which breaks locks: use session mode, or connect to the database directly",
  );
}

async function sessionOf(client: Client): Promise<number | undefined> {
  const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
  return rows[0]?.pid;
}
