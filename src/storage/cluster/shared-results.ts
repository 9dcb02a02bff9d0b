/**
 * Results of long work, such as backtests, that one node does and any node shows. The table is unlogged: a crash of the
 * database loses results, and the node that works writes them again.
 */
import type { SharedDatabase } from "../database/database.ts";
import type { Sealer } from "../sealing/sealing.ts";

export interface SharedResult {
  readonly body: string;
  /** Milliseconds since the node has written it last, by the database's clock. */
  readonly ageMs: number;
}

/** Each method rejects if the database does not respond. */
export interface SharedResults {
  /** Stores the result so far. Resolves with whether a caller has cancelled the work. */
  put(accountId: string, id: string, body: string): Promise<boolean>;
  find(accountId: string, id: string): Promise<SharedResult | undefined>;
  cancel(accountId: string, id: string): Promise<void>;
}

/** Held while a node creates the table, because `create table if not exists` of two nodes can conflict. */
const creationKey = "7205759403792798";
const creation = `do $$ begin
  perform pg_advisory_xact_lock(${creationKey});
  create unlogged table if not exists results (
    id text collate "C" primary key,
    account_id text collate "C" not null,
    at timestamptz not null,
    is_cancelled boolean not null default false,
    body text not null
  );
end $$`;

const putText = `insert into results (id, account_id, at, body) values ($1, $2, clock_timestamp(), $3)
  on conflict (id) do update set at = excluded.at, body = excluded.body where results.account_id = excluded.account_id
  returning is_cancelled`;
const findText = `select body, (extract(epoch from clock_timestamp() - at) * 1000)::integer as age_ms
  from results where id = $1 and account_id = $2 and at > clock_timestamp() - $3 * interval '1 ms'`;
const oldText = "delete from results where at < clock_timestamp() - $1 * interval '1 ms'";

/** @param keepMs time for which results stay after the node has written them last */
export function makeSharedResults(shared: SharedDatabase, sealer: Sealer, keepMs: number): SharedResults {
  let creating: Promise<unknown> | undefined;
  const query = async <Row>(text: string, parameters: readonly unknown[]): Promise<readonly Row[]> => {
    creating ??= shared.query(creation);
    try {
      await creating;
    } catch (error) {
      creating = undefined;
      throw error;
    }
    return await shared.query<Row>(text, parameters);
  };
  return {
    async put(accountId, id, body) {
      await query(oldText, [keepMs]);
      const [row] = await query<{ is_cancelled: boolean }>(putText, [
        id,
        accountId,
        sealer.seal(body, contextOf(accountId, id)),
      ]);
      return row?.is_cancelled ?? false;
    },
    async find(accountId, id) {
      const [row] = await query<{ body: string; age_ms: number }>(findText, [id, accountId, keepMs]);
      return row && { body: sealer.open(row.body, contextOf(accountId, id)), ageMs: row.age_ms };
    },
    async cancel(accountId, id) {
      await query("update results set is_cancelled = true where id = $1 and account_id = $2", [id, accountId]);
    },
  };
}

function contextOf(accountId: string, id: string): string {
  return `${accountId}\0result\0${id}`;
}
