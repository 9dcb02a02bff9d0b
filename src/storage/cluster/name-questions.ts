/** Claims public names in batches: while a query runs, new claims wait for the next one. */
import { runUnattended } from "../../lib/boundary.ts";
import type { SharedDatabase } from "../database/database.ts";
import type { Lease } from "./lease.ts";
import type { ClaimOutcome, NameClaim } from "./presence.ts";

interface PendingClaim {
  readonly row: object;
  readonly answer: PromiseWithResolvers<ClaimOutcome>;
}

/** Names that one query locks. 20 nodes that query at the same time stay within PostgreSQL's default limit. */
const atOnce = 128;

/** Rejects if the database does not respond. */
export type AskForName = (id: string, claim: NameClaim) => Promise<ClaimOutcome>;

export function makeNameQuestions(shared: SharedDatabase, lease: Lease): AskForName {
  let waiting: PendingClaim[] = [];
  let isAsking = false;

  const ask = async (asked: readonly PendingClaim[]): Promise<void> => {
    const { node, epoch } = lease.fence();
    try {
      const [answer] = await shared.query<{ outcomes: readonly ClaimOutcome[] }>(
        "select presence_claims($1, $2, $3) as outcomes",
        [node, epoch, JSON.stringify(asked.map(({ row }) => row))],
      );
      for (const [at, one] of asked.entries()) one.answer.resolve(answer?.outcomes[at] ?? "lost");
    } catch (error) {
      for (const one of asked) one.answer.reject(error);
    }
  };
  const work = async (): Promise<void> => {
    isAsking = true;
    // Includes other claims of this turn.
    await new Promise(setImmediate);
    while (waiting.length > 0) await ask(waiting.splice(0, atOnce));
    isAsking = false;
  };
  return (id, { name, accountId, pool, replaces }) => {
    const answer = Promise.withResolvers<ClaimOutcome>();
    waiting.push({ row: { name, entry: id, account_id: accountId, pool, replaces }, answer });
    if (!isAsking) runUnattended("task", work());
    return answer.promise;
  };
}
