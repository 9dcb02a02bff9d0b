/** Commits of other nodes after a position in the database, read in the order in which they were stored. */
import type { Database } from "../database/database.ts";
import type { Head } from "../rows/record.ts";

/** A change as a row. Its states before and after are not known yet. */
export interface MissedRow {
  readonly account_id: string;
  readonly kind: string;
  readonly id: string;
  readonly revision: number;
  readonly created_at: string;
  readonly doc: string | null;
}

export interface MissedCommit {
  readonly revision: number;
  /** Account of the writer. */
  readonly accountId: string;
  readonly rows: readonly MissedRow[];
}

/** If the node is farther behind, it reads all objects again, because that is no more work than so many rows. */
const maxRevisions = 5000;

/** State of the database, and its name for the batch with the given number. */
export interface DatabaseHead extends Head {
  readonly sequence_kept: number;
  readonly known_batch: string | null;
}

export async function readStanding(reads: Database["reads"], sequence: number): Promise<DatabaseHead> {
  return await reads
    .selectFrom("head")
    .leftJoin("batches", (join) => join.on("batches.sequence", "=", sequence))
    .select(["revision", "hash", "holder", "head.sequence", "sequence_kept", "batch", "batches.name as known_batch"])
    .where("id", "=", 1)
    .executeTakeFirstOrThrow();
}

export async function readHead(reads: Database["reads"]): Promise<Head> {
  return await reads
    .selectFrom("head")
    .select(["revision", "hash", "holder", "sequence", "batch"])
    .where("id", "=", 1)
    .executeTakeFirstOrThrow();
}

/**
 * Whether the commits since `from` can be read and continue it. If they do not, a failover has lost the writes of
 * `from`.
 */
export function isContinued(from: Head, to: DatabaseHead): "yes" | "too far" | "lost" {
  if (to.sequence < from.sequence) return "lost";
  if (from.sequence < to.sequence_kept) return "too far";
  if (to.known_batch !== from.batch) return "lost";
  return to.revision - from.revision > maxRevisions ? "too far" : "yes";
}

export async function readMissed(reads: Database["reads"], from: Head, to: Head): Promise<readonly MissedCommit[]> {
  const [recorded, unrecorded] = await Promise.all([
    to.revision > from.revision ? readRecorded(reads, from.revision, to.revision) : [],
    readUnrecorded(reads, from.sequence, to.sequence),
  ]);
  // Commits without a revision follow the revision before them.
  return [...recorded, ...unrecorded].sort((one, other) => one.revision - other.revision);
}

async function readRecorded(reads: Database["reads"], from: number, to: number): Promise<readonly MissedCommit[]> {
  const rows = await reads
    .selectFrom("history")
    .innerJoin("revisions", "revisions.revision", "history.revision")
    .select(["history.revision", "history.account_id", "kind", "id", "created_at", "doc"])
    .select("revisions.account_id as writer_id")
    .where("history.revision", ">", from)
    .where("history.revision", "<=", to)
    .orderBy("history.revision")
    .orderBy("position")
    .execute();
  const commits = [...Map.groupBy(rows, ({ revision }) => revision)].map(([revision, changed]) => ({
    revision,
    accountId: changed[0]?.writer_id as string,
    rows: changed,
  }));
  if (commits.length === to - from) return commits;
  throw new Error(`follow: ${to - from} revisions follow ${from}, but only ${commits.length} of them were found`);
}

async function readUnrecorded(reads: Database["reads"], from: number, to: number): Promise<readonly MissedCommit[]> {
  const rows = await reads
    .selectFrom("unrecorded")
    .selectAll()
    .where("sequence", ">", from)
    .where("sequence", "<=", to)
    .orderBy("sequence")
    .orderBy("write")
    .orderBy("position")
    .execute();
  return [...Map.groupBy(rows, ({ sequence, write }) => `${sequence} ${write}`).values()].map((changed) => ({
    revision: changed[0]?.after_revision as number,
    accountId: changed[0]?.writer_id as string,
    rows: changed,
  }));
}
