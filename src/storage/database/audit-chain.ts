/** The audit log's hash chain (P6): each revision's hash covers its content and the previous hash. */
import { hash } from "node:crypto";
import type { Tables } from "./database.ts";

type RevisionRow = Omit<Tables["revisions"], "hash">;
type HistoryRow = Tables["history"];

/** Previous hash of the first revision. */
export const chainStart = "0".repeat(64);

/** A position in the chain: the hash of `revision`. */
export interface ChainEnd {
  readonly revision: number;
  readonly hash: string;
}

/** @param changes rows of the revision in `history`, by position */
export function chainHash(previous: string, revision: RevisionRow, changes: readonly HistoryRow[]): string {
  const { revision: number, at, account_id, principal, operation, operation_id, source, reason } = revision;
  const content = [
    previous,
    number,
    at,
    account_id,
    principal,
    operation,
    operation_id,
    source,
    reason,
    changes.map((change) => [change.account_id, change.kind, change.id, change.created_at, change.doc]),
  ];
  return hash("sha256", JSON.stringify(content));
}
