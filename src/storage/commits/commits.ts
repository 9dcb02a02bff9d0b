/** Stores batches, each in one transaction, and makes visible what is stored; knows the head of the database. */
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { Availability } from "./availability.ts";
import { CommitInDoubt, Superseded } from "../database/database.ts";
import type { Database, Step } from "../database/database.ts";
import { settled } from "./doubt.ts";
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
  /** Whom the database names instead of `head.holder` when that could not be stored yet. */
  readonly predecessor?: string | undefined;
  /** See `recovering`. */
  readonly recover: (from: Head, moved: (head: Head) => void) => Promise<void>;
  readonly availability: Pick<Availability, "works">;
  readonly clock: Clock;
  readonly log: Log;
}

/** A stored batch, or one whose fate is not known yet, with what it does to the state. */
export interface Outcome {
  readonly batch: Batch;
  readonly overlay: Overlay;
  readonly usage: Usage;
  readonly commits: readonly Commit[];
  /** Those that are in no revision of their own. */
  readonly unrecorded: readonly Commit[];
}

/** What a batch comes to on the present state; it is made again where the state has turned out to be an older one. */
export interface Attempt {
  /** Undefined when there is nothing to store. */
  readonly outcome: Outcome | undefined;
}

/** How batches get into the database. */
export interface Commits {
  readonly head: Head;
  /** Nothing is in doubt afterwards, and this process may write. */
  settle(): Promise<void>;
  /**
   * Stores what `make` comes to and makes it visible; resolves with the attempt that counts.
   * @throws Error when nothing was stored, or when that could not be found out in time
   */
  store<A extends Attempt>(make: (head: Head) => Promise<A>): Promise<A>;
  /** Carries out steps that no revision is made of. */
  maintain(steps: readonly Step[]): Promise<void>;
  /** Finds out whether writes can be stored, without one. */
  probe(): Promise<void>;
}

/** The commits of the one process that writes. */
export class LoneCommits implements Commits {
  readonly #options: CommitsOptions;
  #head: Head;
  #doubt: Outcome | undefined;
  /** Set while the database is still to be taken over from this holder. */
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

  async maintain(steps: readonly Step[]): Promise<void> {
    const { database } = this.#options;
    await this.#takeOver();
    await database.store([holderStep(database.dialect, this.#head.holder), ...steps]);
  }

  async probe(): Promise<void> {
    const { database, availability } = this.#options;
    await database.store([holderStep(database.dialect, this.#head.holder)]);
    availability.works();
  }

  async store<A extends Attempt>(make: (head: Head) => Promise<A>): Promise<A> {
    try {
      return await this.#storeOn(make);
    } catch (error) {
      if (!(error instanceof Superseded)) throw error;
      await this.#recover();
      return await this.#storeOn(make);
    }
  }

  async #storeOn<A extends Attempt>(make: (head: Head) => Promise<A>): Promise<A> {
    const { database, clock } = this.#options;
    const attempt = await make(this.#head);
    const { outcome } = attempt;
    if (!outcome) return attempt;
    try {
      await database.store(stepsOf(database.dialect, outcome.batch));
    } catch (error) {
      if (!(error instanceof CommitInDoubt)) throw error;
      this.#doubt = outcome;
      if (await settled(error, clock, () => this.#settleDoubt())) return attempt;
      throw new Error("commit: the database rolled it back", { cause: error });
    }
    this.#publish(outcome);
    return attempt;
  }

  async #recover(): Promise<void> {
    await this.#options.recover(this.#head, (head) => void (this.#head = head));
  }

  /** Puts this process's name into the head where the start could not. */
  async #takeOver(): Promise<void> {
    if (this.#predecessor === undefined) return;
    const { database } = this.#options;
    await database.store([takeOverStep(database.dialect, this.#head, this.#predecessor)]);
    this.#predecessor = undefined;
  }

  /** Finds out whether the commit in doubt was stored, and if so makes it visible. */
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

  #publish(outcome: Outcome): void {
    const { published, availability } = this.#options;
    published.take(effectOf(outcome));
    this.#head = outcome.batch.after;
    availability.works();
    published.tell(outcome.commits);
  }
}

/** What a stored batch does. */
export function effectOf({ overlay, usage, commits }: Outcome): Parameters<Published["take"]>[0] {
  return { changes: overlay.changes(), added: usage.added(), commits };
}
