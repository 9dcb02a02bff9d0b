/**
 * Short-lived texts that one node stores and any node reads, such as plans of changes. The table is unlogged: a crash of
 * the database loses them.
 */
import type { SharedDatabase } from "../database/database.ts";
import type { Sealer } from "../sealing/sealing.ts";

export interface NoteLimits {
  /** Notes of different purposes do not count for each other. */
  readonly purpose: string;
  /** How long a note is valid, milliseconds. */
  readonly keepMs: number;
  /** Maximum number of notes of one owner, and of all. The oldest are dropped. */
  readonly maxPerOwner: number;
  readonly max: number;
}

/** Each method rejects if the database does not respond. */
export interface SharedNotes {
  put(owner: string, id: string, text: string): Promise<void>;
  find(owner: string, id: string): Promise<string | undefined>;
}

/** Held while a node creates the table, because `create table if not exists` of two nodes can conflict. */
const creationKey = "7205759403792799";
const creation = `do $$ begin
  perform pg_advisory_xact_lock(${creationKey});
  create unlogged table if not exists notes (
    purpose text collate "C" not null,
    owner text collate "C" not null,
    id text collate "C" not null,
    at timestamptz not null,
    body text not null,
    primary key (purpose, owner, id)
  );
end $$`;

const putText = `insert into notes (purpose, owner, id, at, body) values ($1, $2, $3, clock_timestamp(), $4)
  on conflict (purpose, owner, id) do update set at = excluded.at, body = excluded.body`;
const findText = `select body from notes
  where purpose = $1 and owner = $2 and id = $3 and at > clock_timestamp() - $4 * interval '1 ms'`;
const dropText = `delete from notes where purpose = $1 and (
  at <= clock_timestamp() - $3 * interval '1 ms'
  or at < (select at from notes where purpose = $1 and owner = $2 order by at desc offset $4 - 1 limit 1) and owner = $2
  or at < (select at from notes where purpose = $1 order by at desc offset $5 - 1 limit 1))`;

export function sharedNotes(shared: SharedDatabase, sealer: Sealer, limits: NoteLimits): SharedNotes {
  const { purpose, keepMs, maxPerOwner, max } = limits;
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
  const contextOf = (owner: string, id: string): string => `${purpose}\0note\0${owner}\0${id}`;
  return {
    async put(owner, id, text) {
      await query(putText, [purpose, owner, id, sealer.seal(text, contextOf(owner, id))]);
      await query(dropText, [purpose, owner, keepMs, maxPerOwner, max]);
    },
    async find(owner, id) {
      const [row] = await query<{ body: string }>(findText, [purpose, owner, id, keepMs]);
      return row && sealer.open(row.body, contextOf(owner, id));
    },
  };
}
