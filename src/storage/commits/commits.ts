/** Stores batches, each in one transaction, and publishes them afterwards. Tracks the head of the database. */
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { Availability } from "./availability.ts";
import { CommitInDoubt, Superseded } from "../database/database.ts";
import type { Database, DatabaseStep } from "../database/database.ts";
import { settleDoubt } from "./commit-doubt.ts";
import type { Overlay } from "../state/overlay.ts";
import type { Published } from "./published.ts";
import { holderStep, stepsOf, takeOverStep } from "../rows/record.ts";
import type { Batch, Head } from "../rows/record.ts";
import type { Commit } from "../store.ts";
import type { Usage } from "../rows/usage.ts";

export interface CommitsOptions {
  readonly published: Published;
  readonly database: Database;
  readonly head: Head;
  /** Holder in the database instead of `head.holder`, if the take-over could not be stored yet. */
  readonly predecessor?: string | undefined;
  /** See `recovering`. */
  readonly recover: (from: Head, moved: (head: Head) => void) => Promise<void>;
  readonly availability: Pick<Availability, "works">;
  readonly clock: Clock;
  readonly log: Log;
}

/** A stored batch, or a batch in doubt, with its effect on the state. */
export interface CommitOutcome {
  readonly batch: Batch;
  readonly overlay: Overlay;
  readonly usage: Usage;
  readonly commits: readonly Commit[];
  /** Commits without a revision. */
  readonly unrecorded: readonly Commit[];
}

/** Result of a batch on the present state. It is computed again if the state turns out to be outdated. */
export interface BatchAttempt {
  /** Undefined if there is nothing to store. */
  readonly outcome: CommitOutcome | undefined;
}

/** Stores batches in the database. */
export interface Commits {
  readonly head: Head;
  /** Resolves when no commit is in doubt and this process may write. */
  settle(): Promise<void>;
  /**
   * Stores the result of `make` and publishes it. Resolves with the attempt that was stored.
   * @throws Error if nothing was stored, or if the outcome could not be determined in time
   */
  store<A extends BatchAttempt>(make: (head: Head) => Promise<A>): Promise<A>;
  /** Executes steps that create no revision. */
  maintain(steps: readonly DatabaseStep[]): Promise<void>;
  /** Checks whether writes can be stored, without a write. */
  probe(): Promise<void>;
}

/** Commits of a process that is the only writer. */
export class LoneCommits implements Commits {
  readonly #options: CommitsOptions;
  #head: Head;
  #doubt: CommitOutcome | undefined;
  /** Set until the database is taken over from this holder. */
  #predecessor: string | undefined;

  constructor(options: CommitsOptions) {
    this.#options = options;
    this.#head = options.head;
    this.#predecessor = options.predecessor;
  }

  get head(): Head {
    return this.#head;
  }

  async settle(): Promise<void> {
    await this.#settleDoubt();
    await this.#takeOver();
  }

  async maintain(steps: readonly DatabaseStep[]): Promise<void> {
    const { database } = this.#options;
    await this.#takeOver();
    await database.store([holderStep(database.dialect, this.#head.holder), ...steps]);
  }

  async probe(): Promise<void> {
    const { database, availability } = this.#options;
    await database.store([holderStep(database.dialect, this.#head.holder)]);
    availability.works();
  }

  async store<A extends BatchAttempt>(make: (head: Head) => Promise<A>): Promise<A> {
    try {
      return await this.#storeOn(make);
    } catch (error) {
      if (!(error instanceof Superseded)) throw error;
      await this.#recover();
      return await this.#storeOn(make);
    }
  }

  async #storeOn<A extends BatchAttempt>(make: (head: Head) => Promise<A>): Promise<A> {
    const { database, clock } = this.#options;
    const attempt = await make(this.#head);
    const { outcome } = attempt;
    if (!outcome) return attempt;
    try {
      await database.store(stepsOf(database.dialect, outcome.batch));
    } catch (error) {
      if (!(error instanceof CommitInDoubt)) throw error;
      this.#doubt = outcome;
      if (await settleDoubt(error, clock, () => this.#settleDoubt())) return attempt;
      throw new Error("commit: the database rolled it back", { cause: error });
    }
    this.#publish(outcome);
    return attempt;
  }

  async #recover(): Promise<void> {
    await this.#options.recover(this.#head, (head) => void (this.#head = head));
  }

  /** Writes this process's name into the head if the start could not. */
  async #takeOver(): Promise<void> {
    if (this.#predecessor === undefined) return;
    const { database } = this.#options;
    await database.store([takeOverStep(database.dialect, this.#head, this.#predecessor)]);
    this.#predecessor = undefined;
  }

  /** Determines whether the commit in doubt was stored, and publishes it if so. */
  async #settleDoubt(): Promise<boolean> {
    const doubt = this.#doubt;
    if (!doubt) return false;
    const { database, log } = this.#options;
    const { before, after } = doubt.batch;
    const head = await database.transact((transaction) =>
      transaction.selectFrom("head").selectAll().where("id", "=", 1).executeTakeFirstOrThrow(),
    );
    const stands = (at: Head): boolean =>
      head.revision === at.revision && head.hash === at.hash && head.holder === at.holder;
    if (!stands(before) && !stands(after)) {
      await this.#recover();
      this.#doubt = undefined;
      return false;
    }
    this.#doubt = undefined;
    const stored = !stands(before);
    log.warn("commit in doubt settled", { stored, revision: head.revision });
    if (stored) this.#publish(doubt);
    return stored;
  }

  #publish(outcome: CommitOutcome): void {
    const { published, availability } = this.#options;
    published.take(effectOf(outcome));
    this.#head = outcome.batch.after;
    availability.works();
    published.tell(outcome.commits);
  }
}

/** Returns the effect of a stored batch. */
export function effectOf({ overlay, usage, commits }: CommitOutcome): Parameters<Published["take"]>[0] {
  return { changes: overlay.changes(), added: usage.added(), commits };
}
