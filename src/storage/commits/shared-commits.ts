/**
 * Commits of one node among several. Every batch compares and moves the head in the database, which decides which node
 * was first. The other node reads the missed commits, runs its writes again on them, and stores them again. If nodes
 * conflict often, they queue for the head's row instead, and run their writes while they hold it.
 */
import { randomBytes } from "node:crypto";
import { CompiledQuery } from "kysely";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { Availability } from "./availability.ts";
import { effectOf } from "./commits.ts";
import type { BatchAttempt, Commits, CommitOutcome } from "./commits.ts";
import { carryOut, CommitInDoubt, Superseded } from "../database/database.ts";
import type { Database, DatabaseStep } from "../database/database.ts";
import type { Documents } from "../rows/documents.ts";
import { settleDoubt } from "./commit-doubt.ts";
import type { Follower } from "./commit-follower.ts";
import type { Fence, Lease } from "../cluster/lease.ts";
import type { Published } from "./published.ts";
import { makeHolderStep, makeSharedSteps } from "./shared-steps.ts";
import type { Head } from "../rows/record.ts";
import type { Turns } from "./write-turns.ts";

export interface SharedCommitsOptions {
  readonly database: Database;
  readonly documents: Documents;
  readonly published: Published;
  readonly follower: Follower;
  readonly lease: Lease;
  /** The follower must not read while a batch is being stored, because it would treat it as another node's batch. */
  readonly turns: Turns;
  readonly availability: Pick<Availability, "works">;
  readonly clock: Clock;
  readonly log: Log;
}

/** Batches for which a node queues after a conflict. Then it tries again without the queue. */
const queuedBatches = 64;
/** Maximum tries of one batch. Only lost leases take more than two. */
const maxTries = 5;

export class SharedCommits implements Commits {
  readonly #options: SharedCommitsOptions;
  #doubt: CommitOutcome | undefined;
  #queued = 0;
  #retries = 0;

  constructor(options: SharedCommitsOptions) {
    this.#options = options;
  }

  get head(): Head {
    return this.#options.follower.head;
  }

  /** Batches that ran again because another node was first. */
  get retries(): number {
    return this.#retries;
  }

  async settle(): Promise<void> {
    await this.#options.turns.take(() => this.#settleDoubt());
  }

  async maintain(steps: readonly DatabaseStep[]): Promise<void> {
    const { database, lease } = this.#options;
    await database.store([makeHolderStep(this.head.holder, lease.fence()), ...steps]);
  }

  async probe(): Promise<void> {
    try {
      await this.maintain([]);
    } catch (error) {
      if (!(error instanceof Superseded)) throw error;
      // The node renews its lease itself, so the next attempt can succeed.
      throw new Error("commit: this node lost its lease", { cause: error });
    }
    this.#options.availability.works();
  }

  async store<A extends BatchAttempt>(make: (head: Head) => Promise<A>): Promise<A> {
    return await this.#options.turns.take(async () => {
      for (let tries = 1; ; tries += 1) {
        const attempt = this.#queued > 0 ? await this.#storeQueued(make) : await this.#storeAtOnce(make);
        if (attempt) return attempt;
        if (tries === maxTries) throw new Error("commit: this node lost its lease again");
        this.#retries += 1;
        this.#queued = queuedBatches;
        await this.#options.lease.renew();
        await this.#options.follower.catchUp();
      }
    });
  }

  /** Stores on the present state. Returns undefined if another node was first. */
  async #storeAtOnce<A extends BatchAttempt>(make: (head: Head) => Promise<A>): Promise<A | undefined> {
    const { database, follower, lease } = this.#options;
    const fence = lease.fence();
    const attempt = await make(this.head);
    const { outcome } = attempt;
    if (!outcome) {
      // Responses depend on the state, which must match the database.
      return (await follower.catchUp()) ? undefined : attempt;
    }
    const named = this.#named(outcome);
    try {
      await database.store(this.#stepsOf(named, fence));
    } catch (error) {
      if (error instanceof CommitInDoubt) {
        await this.#awaitFate(named, error);
        return attempt;
      }
      if (error instanceof Superseded) return undefined;
      throw error;
    }
    this.#publish(named);
    return attempt;
  }

  /** Stores while holding the head's row. Returns undefined if this node's lease was lost. */
  async #storeQueued<A extends BatchAttempt>(make: (head: Head) => Promise<A>): Promise<A | undefined> {
    const { database, follower, lease } = this.#options;
    const fence = lease.fence();
    let attempt: A | undefined;
    let named: CommitOutcome | undefined;
    let isFree = false;
    try {
      await database.transact(async (transaction) => {
        await transaction.executeQuery(CompiledQuery.raw("select 1 from head where id = 1 for update"));
        isFree = !(await follower.catchUp());
        attempt = await make(this.head);
        if (!attempt.outcome) return;
        named = this.#named(attempt.outcome);
        await carryOut(transaction, this.#stepsOf(named, fence));
      });
    } catch (error) {
      if (error instanceof CommitInDoubt && named) {
        await this.#awaitFate(named, error);
        return attempt;
      }
      if (error instanceof Superseded) return undefined;
      throw error;
    }
    this.#queued = isFree ? this.#queued - 1 : queuedBatches;
    if (named) this.#publish(named);
    return attempt;
  }

  /** Returns the outcome with the position of its batch. */
  #named(outcome: CommitOutcome): CommitOutcome {
    const { batch } = outcome;
    const after = { ...batch.after, sequence: batch.before.sequence + 1, batch: randomBytes(12).toString("hex") };
    return { ...outcome, batch: { ...batch, after } };
  }

  #stepsOf({ batch, unrecorded }: CommitOutcome, fence: Fence): DatabaseStep[] {
    return makeSharedSteps(batch, unrecorded, this.#options.documents, fence);
  }

  async #awaitFate(outcome: CommitOutcome, doubt: CommitInDoubt): Promise<void> {
    this.#doubt = outcome;
    if (await settleDoubt(doubt, this.#options.clock, () => this.#settleDoubt())) return;
    throw new Error("commit: the database rolled it back", { cause: doubt });
  }

  /** Determines whether the batch in doubt was stored, even if another node has written since. Publishes it if so. */
  async #settleDoubt(): Promise<boolean> {
    const doubt = this.#doubt;
    if (!doubt) return false;
    const { database, log, follower } = this.#options;
    const { sequence, batch } = doubt.batch.after;
    const found = await database.transact(async (transaction) => {
      // Waits until a transaction of a broken connection, if any, has ended.
      await transaction.executeQuery(CompiledQuery.raw("select 1 from head where id = 1 for update"));
      return await transaction.selectFrom("batches").select("name").where("sequence", "=", sequence).executeTakeFirst();
    });
    const stored = found?.name === batch;
    this.#doubt = undefined;
    log.warn("commit in doubt settled", { stored, revision: doubt.batch.after.revision });
    // While the batch was in doubt, the follower may already have read it from the database like another node's batch.
    if (stored && follower.head.sequence < sequence) this.#publish(doubt);
    await follower.catchUp();
    return stored;
  }

  #publish(outcome: CommitOutcome): void {
    const { published, availability, follower } = this.#options;
    published.take(effectOf(outcome));
    follower.moved(outcome.batch.after);
    availability.works();
    published.tell(outcome.commits);
  }
}
