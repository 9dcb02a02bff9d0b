/**
 * The secret for TLS session tickets that all nodes share, one for each period of the database's clock. The table is
 * unlogged and only has the present secret, sealed: neither its history nor the write-ahead log could open recorded
 * connections later.
 */
import { sql } from "kysely";
import type { SharedDatabase, Transaction } from "../database/database.ts";
import type { Sealer } from "../sealing/sealing.ts";

export interface TicketSecret {
  /** Base64. */
  readonly secret: string;
  /** Time until the next secret. */
  readonly leftMs: number;
}

/** Resolves with the secret of all nodes, which is `proposed` if there is none. Rejects without the database. */
export type ShareTicketSecret = (proposed: string) => Promise<TicketSecret>;

const periodSeconds = 8 * 60 * 60;
const sealedFor = "ticket secret";

export async function createTicketSecrets(transaction: Transaction): Promise<void> {
  const text = "create unlogged table if not exists ticket_secrets (period bigint primary key, sealed text not null)";
  await sql.raw(text).execute(transaction);
}

export function makeTicketSecrets(shared: SharedDatabase, sealer: Sealer): ShareTicketSecret {
  return async (proposed) => {
    const [row] = await shared.query<{ period: number; sealed: string; left_ms: number }>(
      `insert into ticket_secrets values (floor(extract(epoch from clock_timestamp()) / ${periodSeconds}), $1)
        on conflict (period) do update set period = excluded.period
        returning period, sealed,
          ceil(((period + 1) * ${periodSeconds} - extract(epoch from clock_timestamp())) * 1000)::integer as left_ms`,
      [sealer.seal(proposed, sealedFor)],
    );
    if (!row) throw new Error("share the secret of session tickets: the database returned none");
    await shared.query("delete from ticket_secrets where period < $1", [row.period]);
    return { secret: sealer.open(row.sealed, sealedFor), leftMs: row.left_ms };
  };
}
