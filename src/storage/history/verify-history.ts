/** Verifies the record (P6): the hash chain, and the rows that remain from pruned revisions. */
import { readAnchor, sumWith } from "./anchor.ts";
import type { Anchor } from "./anchor.ts";
import { chainHash } from "../database/audit-chain.ts";
import type { ChainEnd } from "../database/audit-chain.ts";
import type { Database, Tables } from "../database/database.ts";
import type { Documents } from "../rows/documents.ts";
import { historyRows } from "./history-rows.ts";
import type { Sealer } from "../sealing/sealing.ts";
import type { History } from "../store.ts";

/** Revisions read at a time. */
const step = 500;

type Reads = Database["reads"];

/** Recomputes every stored hash and sum. Nothing may be pruned meanwhile. */
export async function verifyHistory(
  reads: Reads,
  sealer: Sealer,
  documents: Pick<Documents, "asWritten">,
): ReturnType<History["verify"]> {
  const head = await reads.selectFrom("head").select(["revision", "hash"]).executeTakeFirstOrThrow();
  const { anchor } = await readAnchor(reads, sealer);
  if ((await sumOfLeft(reads, anchor, documents)) !== anchor.sum) return { revisions: 0, brokenAt: anchor.revision };
  let end: ChainEnd = anchor;
  while (end.revision < head.revision) {
    const to = Math.min(end.revision + step, head.revision);
    const walked = await walkChain(reads, end, to, documents);
    if (walked.brokenAt !== undefined) return { revisions: walked.brokenAt - 1, brokenAt: walked.brokenAt };
    end = walked.end;
  }
  const { revision, hash } = end;
  return hash === head.hash && revision === head.revision
    ? { revisions: revision }
    : { revisions: revision, brokenAt: revision };
}

/** Recomputes the chain after `from` up to a revision. `changes` are the covered rows, as they were written. */
export async function walkChain(
  reads: Reads,
  from: ChainEnd,
  to: number,
  documents: Pick<Documents, "asWritten">,
): Promise<{ readonly end: ChainEnd; readonly changes: readonly Tables["history"][]; readonly brokenAt?: number }> {
  const revisions = await reads
    .selectFrom("revisions")
    .selectAll()
    .where("revision", ">", from.revision)
    .where("revision", "<=", to)
    .orderBy("revision")
    .execute();
  const rows = await reads
    .selectFrom("history")
    .selectAll()
    .where("revision", ">", from.revision)
    .where("revision", "<=", to)
    .orderBy("revision")
    .orderBy("position")
    .execute();
  const changes = rows.map((row) => asWritten(row, documents));
  const changesOf = Map.groupBy(changes, ({ revision }) => revision);
  let end = from;
  for (let number = from.revision + 1; number <= to; number += 1) {
    const row = revisions[number - from.revision - 1];
    if (row?.revision !== number) return { end, changes, brokenAt: number };
    const hash = chainHash(end.hash, row, changesOf.get(number) ?? []);
    if (row.hash !== hash) return { end, changes, brokenAt: number };
    end = { revision: number, hash };
  }
  return { end, changes };
}

/** Returns the row in the form that hashes and sums cover. */
export function asWritten(row: Tables["history"], documents: Pick<Documents, "asWritten">): Tables["history"] {
  const { doc } = row;
  return doc === null ? row : { ...row, doc: documents.asWritten({ ...row, doc }) };
}

async function sumOfLeft(
  reads: Reads,
  { key, revision: upTo }: Anchor,
  documents: Pick<Documents, "asWritten">,
): Promise<string> {
  let sum = "0";
  for await (const rows of historyRows(reads, (all) => all.where("revision", "<=", upTo))) {
    const written = rows.map((row) => asWritten(row, documents));
    sum = sumWith({ key, sum }, written);
  }
  return sum;
}
