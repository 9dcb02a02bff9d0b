/**
 * Results of earlier writes with an idempotency key. They are looked up before a batch runs, and added while it runs.
 */
import { Refusal } from "../../lib/errors.ts";
import type { Database } from "../database/database.ts";
import { cleanText } from "../rows/record.ts";
import type { IdempotencyRow } from "../rows/record.ts";
import type { Sealer } from "../sealing/sealing.ts";
import type { Once, Replayed } from "../store.ts";

/** Lifetime of a key (semantics, "Writes"). */
export const answerLifeMs = 24 * 60 * 60 * 1000;

export interface Idempotency {
  /**
   * Returns the response of an earlier write with this key.
   * @throws Refusal `idempotency_reused` if that write had a different request
   */
  find(accountId: string, once: Once<never>): Replayed | undefined;
  add(accountId: string, once: Once<never>, revision: number, answer: string): void;
  /** New responses, sealed: they can contain tokens that are shown only once. */
  readonly added: readonly IdempotencyRow[];
}

/**
 * @param nowMs settled time: a clock that is wrong for an hour must not make a write happen twice
 * @param wallMs date of new keys if it is later: the settled time follows within hours, and keys must not have aged by
 * then
 */
export async function openIdempotency(
  database: Database,
  sealer: Sealer,
  wanted: readonly { readonly accountId: string; readonly key: string }[],
  nowMs: number,
  wallMs: number,
): Promise<Idempotency> {
  const known = new Map<string, { readonly fingerprint: string; readonly replayed: Replayed }>();
  const added: IdempotencyRow[] = [];
  if (wanted.length > 0) {
    const rows = await database.reads
      .selectFrom("idempotency")
      .selectAll()
      .where("key", "in", [...new Set(wanted.map(({ key }) => cleanText(key)))])
      .where("created_ms", ">", nowMs - answerLifeMs)
      .execute();
    for (const { account_id, key, fingerprint, revision, answer } of rows) {
      const replayed = { revision, replayed: sealer.open(answer, contextOf(account_id, key)) };
      known.set(nameOf(account_id, key), { fingerprint, replayed });
    }
  }
  return {
    find(accountId, { key, fingerprint }) {
      const found = known.get(nameOf(accountId, cleanText(key)));
      if (found && found.fingerprint !== fingerprint) throw new Refusal("idempotency_reused");
      return found?.replayed;
    },
    add(accountId, once, revision, text) {
      const key = cleanText(once.key);
      const answer = sealer.seal(text, contextOf(accountId, key));
      known.set(nameOf(accountId, key), { fingerprint: once.fingerprint, replayed: { revision, replayed: text } });
      const created_ms = Math.max(nowMs, wallMs);
      added.push({ account_id: accountId, key, fingerprint: once.fingerprint, revision, answer, created_ms });
    },
    added,
  };
}

function nameOf(accountId: string, key: string): string {
  return `${accountId}\0${key}`;
}

function contextOf(accountId: string, key: string): string {
  return `${accountId}\0idempotency\0${key}`;
}
