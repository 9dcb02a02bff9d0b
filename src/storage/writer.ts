/**
 * Group commit. Writes of one event-loop turn, and all that come while a commit is under way, run one after the
 * other on what the earlier ones left, are stored in one transaction, and only then become visible.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { timestamp } from "../lib/clock.ts";
import type { Clock } from "../lib/clock.ts";
import { Refusal } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import { answersFor } from "./answers.ts";
import { attempt } from "./attempt.ts";
import { Availability } from "./availability.ts";
import { CommitInDoubt, Superseded } from "./database.ts";
import type { Database, Step } from "./database.ts";
import type { Documents } from "./documents.ts";
import type { Kinds } from "./kinds.ts";
import { Overlay } from "./overlay.ts";
import type { Quotas } from "./quotas.ts";
import { batchOf, holderStep, stepsOf, takeOverStep } from "./record.ts";
import type { Batch, Entry, Head } from "./record.ts";
import type { Sealer } from "./sealing.ts";
import type { State } from "./state.ts";
import type { Commit, Cursor, Draft, Judge, Once, Replayed, Store, WriteContext, Written } from "./store.ts";
import { kindNamed } from "./view.ts";
import { Usage } from "./usage.ts";

/** Writes that may wait; more are refused at once. */
const maxWaiting = 10_000;
/** Writes of one commit; bounds its size and the time that it takes. */
const maxBatch = 1000;
/** How long the writers of a commit in doubt wait to learn its outcome. */
const doubtMs = 10_000;
const doubtPauseMs = 250;

export interface WriterOptions {
  readonly kinds: Kinds;
  readonly quotas: Quotas;
  readonly state: State;
  readonly usage: Usage;
  readonly database: Database;
  readonly documents: Documents;
  readonly sealer: Sealer;
  readonly head: Head;
  /** Whom the database names instead of `head.holder` when that could not be stored yet. */
  readonly predecessor?: string | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

interface Waiting {
  readonly context: WriteContext;
  readonly work: (draft: Draft) => unknown;
  readonly once: Once<never> | undefined;
  readonly resolve: (outcome: Written<unknown> | Replayed) => void;
  readonly reject: (error: unknown) => void;
}

/** Steps for a commit of their own. */
interface Chore {
  readonly steps: readonly Step[];
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** A stored batch, or one whose fate is not known yet, with what it does to the state. */
interface Outcome {
  readonly batch: Batch;
  readonly overlay: Overlay;
  readonly usage: Usage;
  readonly commits: readonly Commit[];
}

export class Writer {
  readonly #options: WriterOptions;
  readonly #listeners: ((commit: Commit) => void)[] = [];
  #head: Head;
  #waiting: Waiting[] = [];
  /** Cursors to be kept with the next commit; undefined ones are dropped. */
  #cursors = new Map<string, Cursor | undefined>();
  #chores: Chore[] = [];
  #running: Promise<void> | undefined;
  #doubt: Outcome | undefined;
  /** Set while the database is still to be taken over from this holder. */
  #predecessor: string | undefined;
  readonly #availability: Availability;
  /** It is to be found out whether writes can be stored, though there may be none. */
  #isTrying = false;
  #closed = false;
  #commits = 0;

  constructor(options: WriterOptions) {
    this.#options = options;
    this.#head = options.head;
    this.#predecessor = options.predecessor;
    const { clock, log } = options;
    this.#availability = new Availability({
      clock,
      log,
      attempt: () => {
        this.#isTrying = true;
        this.#running ??= this.#run();
      },
    });
    if (this.#predecessor !== undefined) this.#availability.startsUnavailable();
  }

  get condition(): Store["condition"] {
    return this.#availability.condition;
  }

  get commits(): number {
    return this.#commits;
  }

  get revision(): number {
    return this.#head.revision;
  }

  subscribe(listener: (commit: Commit) => void): void {
    this.#listeners.push(listener);
  }

  write(
    context: WriteContext,
    work: (draft: Draft) => unknown,
    once?: Once<never>,
  ): Promise<Written<unknown> | Replayed> {
    if (this.#closed) return Promise.reject(new Refusal("write_unavailable", "storage is closing"));
    if (this.#waiting.length >= maxWaiting) {
      return Promise.reject(new Refusal("write_unavailable", `${maxWaiting} writes are waiting already`));
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ context, work, once, resolve, reject });
      this.#running ??= this.#run();
    });
  }

  /** Keeps `cursor` with the next commit, or drops the one of that name. After a failure the next one tries again. */
  keepCursor(name: string, cursor: Cursor | undefined): void {
    if (this.#closed) return;
    this.#cursors.set(name, cursor);
    this.#running ??= this.#run();
  }

  /**
   * Carries the steps out in a commit of their own, behind the writes that wait. It fails without them; after
   * `CommitInDoubt` its outcome is not known.
   */
  maintain(steps: readonly Step[]): Promise<void> {
    if (this.#closed) return Promise.reject(new Error("store: storage is closing"));
    return new Promise((resolve, reject) => {
      this.#chores.push({ steps, resolve, reject });
      this.#running ??= this.#run();
    });
  }

  rehearse<T>(work: (draft: Draft) => T, judge?: Judge): T {
    const { kinds, quotas, state, usage, clock } = this.#options;
    const nowMs = clock.now();
    const at = { revision: this.#head.revision + 1, nowMs, at: timestamp(nowMs) };
    return attempt({ kinds, quotas, base: state, usage, judge, ...at }, work).result;
  }

  /** Resolves once every waiting write has its answer. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#availability.stop();
    await this.#running;
  }

  async #run(): Promise<void> {
    let failed = false;
    const isWanted = (): boolean => this.#waiting.length > 0 || this.#isTrying || (this.#cursors.size > 0 && !failed);
    while (isWanted() || this.#chores.length > 0) {
      // Lets the rest of this turn's writes, and those of callers who have just been answered, join.
      await nextTurn();
      if (isWanted()) {
        const batch = this.#waiting.splice(0, maxBatch);
        this.#isTrying = false;
        try {
          await this.#process(batch);
          failed = false;
          this.#availability.tryLater();
        } catch (error) {
          failed = true;
          this.#availability.fails(error, batch.length > 0);
          for (const one of batch) one.reject(unavailable(error));
        }
      }
      await this.#doChore(this.#chores.shift());
    }
    this.#running = undefined;
  }

  async #doChore(chore: Chore | undefined): Promise<void> {
    if (!chore) return;
    const { database } = this.#options;
    try {
      await this.#takeOver();
      await database.store([holderStep(database.dialect, this.#head.holder), ...chore.steps]);
      chore.resolve();
    } catch (error) {
      chore.reject(error);
    }
  }

  async #process(waiting: readonly Waiting[]): Promise<void> {
    const { kinds, quotas, state, database, documents, sealer, clock } = this.#options;
    await this.#settleDoubt();
    await this.#takeOver();
    const nowMs = clock.now();
    const at = timestamp(nowMs);
    const wanted = waiting.flatMap(({ context, once }) =>
      once ? [{ accountId: context.principal.accountId, key: once.key }] : [],
    );
    const answers = await answersFor(database, sealer, wanted, nowMs);
    const overlay = new Overlay(kinds, state);
    const usage = new Usage(this.#options.usage);
    const entries: Entry[] = [];
    const commits: Commit[] = [];
    const replies: (() => void)[] = [];
    let revision = this.#head.revision;
    for (const { context, work, once, resolve, reject } of waiting) {
      const { accountId } = context.principal;
      try {
        const replayed = once && answers.find(accountId, once);
        if (replayed) {
          replies.push(() => resolve(replayed));
          continue;
        }
        const limits = {
          // What the server does by itself follows from what was let in, and must not get stuck half-way.
          quotas: context.principal.id === "system" ? undefined : quotas,
          base: overlay,
          usage,
          judge: context.judge,
        };
        const { result, changes, added } = attempt({ kinds, revision: revision + 1, nowMs, at, ...limits }, work);
        const answer = once?.answer(result as never, changes.length > 0 ? revision + 1 : revision);
        if (changes.length > 0) {
          const isRecorded =
            context.principal.id !== "system" || changes.some(({ kind }) => !kindNamed(kinds, kind).unrecorded);
          if (isRecorded) {
            revision += 1;
            entries.push({ revision, at, context, changes });
          }
          overlay.merge(changes);
          usage.add(added);
          commits.push({ revision, accountId, changes });
        }
        if (once) answers.add(accountId, once, revision, answer as string, nowMs);
        const written = { revision, result };
        replies.push(() => resolve(written));
      } catch (error) {
        // It may be due to an earlier write of this batch, so it holds only once that one is stored.
        replies.push(() => reject(error));
      }
    }
    const cursors = this.#cursors;
    if (commits.length > 0 || answers.added.length > 0 || cursors.size > 0) {
      const rest = { answers: answers.added, ...cursorRows(cursors) };
      const batch = batchOf(documents, this.#head, entries, overlay.changes(), rest);
      this.#cursors = new Map();
      try {
        await this.#store({ batch, overlay, usage, commits });
      } catch (error) {
        this.#cursors = new Map([...cursors, ...this.#cursors]);
        throw error;
      }
    } else if (waiting.length === 0) {
      await database.store([holderStep(database.dialect, this.#head.holder)]);
      this.#availability.works();
    }
    for (const reply of replies) reply();
  }

  /** Puts this process's name into the head where the start could not. */
  async #takeOver(): Promise<void> {
    if (this.#predecessor === undefined) return;
    const { database } = this.#options;
    await database.store([takeOverStep(database.dialect, this.#head, this.#predecessor)]);
    this.#predecessor = undefined;
  }

  /** @throws Error when nothing was stored, or when that could not be found out in time */
  async #store(outcome: Outcome): Promise<void> {
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
    this.#commits += commits.length;
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

function cursorRows(cursors: ReadonlyMap<string, Cursor | undefined>): Pick<Batch, "cursors" | "droppedCursors"> {
  return {
    cursors: [...cursors].flatMap(([name, cursor]) => (cursor ? [{ name, ...cursor }] : [])),
    droppedCursors: [...cursors].flatMap(([name, cursor]) => (cursor ? [] : [name])),
  };
}

function unavailable(cause: unknown): Refusal {
  const refusal =
    cause instanceof CommitInDoubt
      ? new Refusal(
          "write_unavailable",
          "The database broke off while the change was being stored: read before you retry.",
        )
      : new Refusal("write_unavailable");
  refusal.cause = cause;
  return refusal;
}
