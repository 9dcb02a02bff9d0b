/** Stores batches, each in one transaction, and makes visible what is stored; knows the head of the database. */
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import type { Availability } from "./availability.ts";
import { CommitInDoubt, Superseded } from "./database/database.ts";
import type { Database, Step } from "./database/database.ts";
import type { Overlay } from "./overlay.ts";
import { holderStep, stepsOf, takeOverStep } from "./record.ts";
import type { Batch, Head } from "./record.ts";
import type { State } from "./state.ts";
import type { Commit } from "./store.ts";
import type { Usage } from "./usage.ts";

/** How long the writers of a commit in doubt wait to learn its outcome. */
const doubtMs = 10_000;
const doubtPauseMs = 250;

export interface CommitsOptions {
  readonly state: State;
  readonly usage: Usage;
  readonly database: Database;
  readonly head: Head;
  /** Whom the database names instead of `head.holder` when that could not be stored yet. */
  readonly predecessor?: string | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

/** A stored batch, or one whose fate is not known yet, with what it does to the state. */
export interface Outcome {
  readonly batch: Batch;
  readonly overlay: Overlay;
  readonly usage: Usage;
  readonly commits: readonly Commit[];
}

export class Commits {
  readonly #options: CommitsOptions;
  readonly #availability: Pick<Availability, "works">;
  readonly #listeners: ((commit: Commit) => void)[] = [];
  #head: Head;
  #count = 0;
  #doubt: Outcome | undefined;
  /** Set while the database is still to be taken over from this holder. */
  #predecessor: string | undefined;

  /** @param availability is told when something was stored */
  constructor(options: CommitsOptions, availability: Pick<Availability, "works">) {
    this.#options = options;
    this.#availability = availability;
    this.#head = options.head;
    this.#predecessor = options.predecessor;
  }

  get head(): Head {
    return this.#head;
  }

  /** How many were made visible since the start. */
  get count(): number {
    return this.#count;
  }

  subscribe(listener: (commit: Commit) => void): void {
    this.#listeners.push(listener);
  }

  /** Nothing is in doubt afterwards, and the database is this process's. */
  async settle(): Promise<void> {
    await this.#settleDoubt();
    await this.#takeOver();
  }

  /** Carries out steps that no revision is made of. */
  async maintain(steps: readonly Step[]): Promise<void> {
    const { database } = this.#options;
    await this.#takeOver();
    await database.store([holderStep(database.dialect, this.#head.holder), ...steps]);
  }

  /** Finds out whether writes can be stored, without one. */
  async probe(): Promise<void> {
    const { database } = this.#options;
    await database.store([holderStep(database.dialect, this.#head.holder)]);
    this.#availability.works();
  }

  /** @throws Error when nothing was stored, or when that could not be found out in time */
  async store(outcome: Outcome): Promise<void> {
    const { database } = this.#options;
    try {
      await database.store(stepsOf(database.dialect, outcome.batch));
    } catch (error) {
      if (!(error instanceof CommitInDoubt)) throw error;
      this.#doubt = outcome;
      if (await this.#settled(error)) return;
      throw new Error("commit: the database undid it", { cause: error });
    }
    this.#publish(outcome);
  }

  /** Puts this process's name into the head where the start could not. */
  async #takeOver(): Promise<void> {
    if (this.#predecessor === undefined) return;
    const { database } = this.#options;
    await database.store([takeOverStep(database.dialect, this.#head, this.#predecessor)]);
    this.#predecessor = undefined;
  }

  /** Asks until it knows whether the commit in doubt was stored, for a while. */
  async #settled(doubt: CommitInDoubt): Promise<boolean> {
    const { clock } = this.#options;
    const until = clock.monotonic() + doubtMs;
    for (;;) {
      try {
        return await this.#settleDoubt();
      } catch (error) {
        if (error instanceof Superseded) throw error;
        if (clock.monotonic() >= until) throw doubt;
      }
      await new Promise<void>((resume) => void clock.after(doubtPauseMs, resume));
    }
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
      throw new Superseded("store writes: another process has taken the database over; this one must be restarted");
    }
    this.#doubt = undefined;
    const stored = !stands(before);
    log.warn("commit in doubt settled", { stored, revision: head.revision });
    if (stored) this.#publish(doubt);
    return stored;
  }

  #publish({ batch, overlay, usage, commits }: Outcome): void {
    const { state, log } = this.#options;
    state.merge(overlay.changes());
    this.#options.usage.add(usage.added());
    this.#head = batch.after;
    this.#availability.works();
    this.#count += commits.length;
    for (const commit of commits) {
      for (const listener of this.#listeners) {
        try {
          listener(commit);
        } catch (error) {
          log.error("a listener failed on a commit", { revision: commit.revision, error });
        }
      }
    }
  }
}
