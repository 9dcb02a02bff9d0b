/**
 * Beginning of the history after pruning (P6). It contains the hash that the next revision builds on, and a sum over
 * the rows of pruned revisions that are still in `history`. It is sealed, so an attacker who can write to the database
 * but lacks the sealing key cannot forge an anchor for a truncated history.
 */
import { createHmac, randomBytes } from "node:crypto";
import { chainStart } from "../database/audit-chain.ts";
import type { ChainEnd } from "../database/audit-chain.ts";
import type { Database, DatabaseStep, Tables } from "../database/database.ts";
import { renderPlaceholder } from "../database/insert.ts";
import type { Dialect } from "../database/insert.ts";
import type { Sealer } from "../sealing/sealing.ts";
import type { Cursor } from "../store.ts";

export interface Anchor extends ChainEnd {
  /** Up to this position, rows of `history` that later rows of the same object have replaced are deleted. */
  readonly swept: Cursor;
  /** Key of the hashes in `sum`. */
  readonly key: string;
  /** Sum over every row of `history` up to `revision`, hexadecimal. */
  readonly sum: string;
}

/** Position after every change of a revision. */
export const lastPosition: number = 2 ** 31 - 1;

const context = "anchor of the history";
/** Hashes are added up modulo this number: the order of rows does not matter, and a row can be subtracted. */
const modulus = 2n ** 256n;

/** Returns the anchor and its text in the database. Before the first pruning: the beginning of the chain and "". */
export async function readAnchor(
  reads: Database["reads"],
  sealer: Sealer,
): Promise<{ readonly anchor: Anchor; readonly sealed: string }> {
  const row = await reads.selectFrom("anchor").select("sealed").where("id", "=", 1).executeTakeFirst();
  if (row) return { anchor: JSON.parse(sealer.open(row.sealed, context)) as Anchor, sealed: row.sealed };
  const key = randomBytes(32).toString("hex");
  const anchor = { revision: 0, hash: chainStart, swept: { revision: 0, position: lastPosition }, key, sum: "0" };
  return { anchor, sealed: "" };
}

/** Returns the steps that replace the text `before` with `anchor`, and the deletions that the new anchor permits. */
export function anchorSteps(
  dialect: Dialect,
  sealer: Sealer,
  before: string,
  anchor: Anchor,
  deletions: (stands: { readonly sql: string; readonly parameter: string }) => readonly DatabaseStep[],
): DatabaseStep[] {
  const sealed = sealer.seal(JSON.stringify(anchor), context);
  const place = (at: number): string => renderPlaceholder(dialect, at);
  return [
    {
      sql:
        `insert into anchor (id, sealed) values (1, ${place(0)}) ` +
        `on conflict (id) do update set sealed = excluded.sealed where anchor.sealed = ${place(1)}`,
      parameters: [sealed, before],
    },
    // A commit in doubt may have been stored. Then these deletions repeat the ones it has already made.
    ...deletions({ sql: `exists (select 1 from anchor where sealed = ${place(0)})`, parameter: sealed }),
  ];
}

/** Returns `sum` with some rows added and other rows subtracted. */
export function sumWith(
  { key, sum }: Pick<Anchor, "key" | "sum">,
  added: Iterable<Tables["history"]>,
  removed: Iterable<Tables["history"]> = [],
): string {
  let total = BigInt(`0x${sum}`);
  for (const row of added) total += hashOf(key, row);
  for (const row of removed) total -= hashOf(key, row);
  return (((total % modulus) + modulus) % modulus).toString(16);
}

function hashOf(key: string, row: Tables["history"]): bigint {
  const { revision, position, account_id, kind, id, created_at, doc } = row;
  const content = JSON.stringify([revision, position, account_id, kind, id, created_at, doc]);
  return BigInt(`0x${createHmac("sha256", key).update(content).digest("hex")}`);
}
