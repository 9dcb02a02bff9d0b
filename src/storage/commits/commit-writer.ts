/**
 * Group commit. Writes of one event-loop turn, and all writes that arrive during a commit, run one after the other on
 * the previous results. They are stored in one transaction, and become visible only afterwards.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { formatTimestamp } from "../../lib/clock.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import { Refusal } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import { Availability } from "./availability.ts";
import { runBatch } from "./batch-run.ts";
import type { BatchRun, WaitingWrite } from "./batch-run.ts";
import type { BatchAttempt, Commits } from "./commits.ts";
import { CommitInDoubt } from "../database/database.ts";
import type { Database, DatabaseStep } from "../database/database.ts";
import type { Documents } from "../rows/documents.ts";
import { openIdempotency } from "./idempotency.ts";
import type { StoreNode } from "./store-node.ts";
import type { Kinds } from "../rows/kinds.ts";
import type { Quotas } from "../../settings/storage.ts";
import type { SettledTime } from "../../lib/settled-time.ts";
import { batchOf } from "../rows/record.ts";
import type { Batch, Head } from "../rows/record.ts";
import { runWork } from "../state/run-work.ts";
import type { Sealer } from "../sealing/sealing.ts";
import type { State } from "../state/state.ts";
import type { Cursor, Draft, Judge, Once, Replayed, Store, WriteContext, Written } from "../store.ts";
import type { Usage } from "../rows/usage.ts";

const cutOff = "this node's lease has expired, and the database does not answer: retry at another node";
const silent = "the database does not answer: retry later";
/** Maximum waiting writes. More are rejected immediately. */
const maxWaiting = 10_000;
/** Maximum writes of one commit, which limits its size and duration. */
const maxBatch = 1000;

export interface WriterOptions {
  readonly kinds: Kinds;
  readonly quotas: Quotas;
  readonly state: State;
  readonly usage: Usage;
  readonly database: Database;
  readonly documents: Documents;
  readonly sealer: Sealer;
  /** Whether the start could not store anything. */
  readonly startsUnavailable: boolean;
  readonly clock: Clock;
  readonly time: SettledTime;
  readonly log: Log;
  /** Of a node: whether the others have taken over and the database is out of reach. */
  readonly reach?: Pick<StoreNode, "isCutOff" | "onCutOff"> | undefined;
  /** Creates the object that stores the batches. It reports to `availability` when something was stored. */
  readonly commits: (availability: Pick<Availability, "works">) => Commits;
}

/** Result of a batch on one state. */
interface RunAttempt extends BatchAttempt {
  readonly run: BatchRun;
}

/** Steps for a separate commit. */
interface Chore {
  readonly steps: readonly DatabaseStep[];
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export class Writer {
  readonly #options: WriterOptions;
  readonly #commits: Commits;
  readonly #availability: Availability;
  #waiting: WaitingWrite[] = [];
  /** The batch that is being stored. */
  #storing: readonly WaitingWrite[] = [];
  /** Cursors to store with the next commit; undefined deletes a cursor. */
  #cursors = new Map<string, Cursor | undefined>();
  #chores: Chore[] = [];
  #running: Promise<void> | undefined;
  /** Whether to check that writes can be stored, even if there are none. */
  #isTrying = false;
  /** Whether the batch that is being stored takes longer than its callers wait. */
  #isOverdue = false;
  /** Ends when the batch is stored, before its callers continue. */
  #patience: Timer | undefined;
  #closed = false;

  constructor(options: WriterOptions) {
    this.#options = options;
    const { clock, log } = options;
    this.#availability = new Availability({
      clock,
      log,
      tryWrite: () => {
        this.#isTrying = true;
        this.#running ??= this.#run();
      },
    });
    if (options.startsUnavailable) this.#availability.startsUnavailable();
    this.#commits = options.commits(this.#availability);
    options.reach?.onCutOff(() => this.#giveUp(cutOff));
  }

  get condition(): Store["condition"] {
    return this.#availability.condition;
  }

  get revision(): number {
    return this.#commits.head.revision;
  }

  write(
    context: WriteContext,
    work: (draft: Draft) => unknown,
    once?: Once<never>,
  ): Promise<Written<unknown> | Replayed> {
    if (this.#closed) return Promise.reject(new Refusal("write_unavailable", "storage is closing"));
    if (this.#options.reach?.isCutOff()) return Promise.reject(new Refusal("write_unavailable", cutOff));
    if (this.#isOverdue || this.#availability.isSilent) {
      return Promise.reject(new Refusal("write_unavailable", silent));
    }
    if (this.#waiting.length >= maxWaiting) {
      return Promise.reject(new Refusal("write_unavailable", `${maxWaiting} writes are already waiting`));
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ context, work, once, resolve, reject });
      this.#running ??= this.#run();
    });
  }

  /**
   * Stores `cursor` with the next commit, or deletes the cursor of that name. After a failure, the next commit tries
   * again.
   */
  keepCursor(name: string, cursor: Cursor | undefined): void {
    if (this.#closed) return;
    this.#cursors.set(name, cursor);
    this.#running ??= this.#run();
  }

  /**
   * Executes the steps in a separate commit, after the waiting writes. If it fails, none of the steps is stored; after
   * `CommitInDoubt` the outcome is unknown.
   */
  maintain(steps: readonly DatabaseStep[]): Promise<void> {
    if (this.#closed) return Promise.reject(new Error("store: storage is closing"));
    return new Promise((resolve, reject) => {
      this.#chores.push({ steps, resolve, reject });
      this.#running ??= this.#run();
    });
  }

  rehearse<T>(work: (draft: Draft) => T, judge?: Judge): T {
    const { kinds, quotas, state, usage, clock } = this.#options;
    const nowMs = clock.now();
    const at = { revision: this.revision + 1, nowMs, at: formatTimestamp(nowMs) };
    return runWork({ kinds, quotas, base: state, usage, judge, ...at }, work).result;
  }

  /** Resolves when every waiting write has its response. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#availability.stop();
    await this.#running;
  }

  async #run(): Promise<void> {
    let failed = false;
    const isWanted = (): boolean => this.#waiting.length > 0 || this.#isTrying || (this.#cursors.size > 0 && !failed);
    while (isWanted() || this.#chores.length > 0) {
      // Lets the rest of this turn's writes join, and the next writes of callers that just got a response.
      await nextTurn();
      if (isWanted()) {
        const batch = this.#waiting.splice(0, maxBatch);
        this.#isTrying = false;
        this.#storing = batch;
        failed = !(await this.#tryBatch(batch));
        this.#storing = [];
      }
      await this.#doChore(this.#chores.shift());
    }
    this.#running = undefined;
  }

  /** Returns whether the batch was stored. */
  async #tryBatch(batch: WaitingWrite[]): Promise<boolean> {
    const { clock, database } = this.#options;
    const since = clock.monotonic();
    const { patienceMs } = database;
    this.#patience =
      patienceMs === undefined
        ? undefined
        : clock.after(patienceMs, () => {
            this.#isOverdue = true;
            this.#giveUp(silent);
          });
    try {
      await this.#process(batch);
      this.#availability.tryLater();
      return true;
    } catch (error) {
      this.#availability.fails(error, batch.length > 0, clock.monotonic() - since);
      for (const one of batch) one.reject(refuseUnavailable(error));
      if (this.#availability.isSilent) this.#giveUp(silent);
      return false;
    } finally {
      this.#patience?.cancel();
      this.#isOverdue = false;
    }
  }

  /** Answers the writes that wait for a database out of reach. It may still store the batch that it has begun. */
  #giveUp(why: string): void {
    for (const one of this.#waiting.splice(0)) one.reject(new Refusal("write_unavailable", why));
    for (const one of this.#storing) one.reject(refuseUnavailable(new CommitInDoubt(why)));
  }

  async #doChore(chore: Chore | undefined): Promise<void> {
    if (!chore) return;
    try {
      await this.#commits.maintain(chore.steps);
      chore.resolve();
    } catch (error) {
      chore.reject(error);
    }
  }

  /** @param waiting receives more waiting writes each time that they run */
  async #process(waiting: WaitingWrite[]): Promise<void> {
    await this.#commits.settle();
    const cursors = this.#cursors;
    this.#cursors = new Map();
    try {
      const { run, outcome } = await this.#commits.store(async (head) => {
        waiting.push(...this.#waiting.splice(0, maxBatch - waiting.length));
        return await this.#attempt(waiting, cursors, head);
      });
      if (!outcome && waiting.length === 0) await this.#commits.probe();
      this.#patience?.cancel();
      run.reply();
    } catch (error) {
      this.#cursors = new Map([...cursors, ...this.#cursors]);
      throw error;
    }
  }

  async #attempt(
    waiting: readonly WaitingWrite[],
    cursors: ReadonlyMap<string, Cursor | undefined>,
    head: Head,
  ): Promise<RunAttempt> {
    const { kinds, quotas, state, usage, database, documents, sealer, clock, time } = this.#options;
    const nowMs = clock.now();
    const settledMs = time.now();
    const keyed = waiting.flatMap(({ context, once }) =>
      once ? [{ accountId: context.principal.accountId, key: once.key }] : [],
    );
    const answers = await openIdempotency(database, sealer, keyed, settledMs, nowMs);
    const run = runBatch(waiting, { kinds, quotas, state, usage, answers, revision: head.revision, nowMs });
    if (run.commits.length === 0 && answers.added.length === 0 && cursors.size === 0)
      return { run, outcome: undefined };
    const rest = { answers: answers.added, ...cursorRows(cursors) };
    const batch = batchOf(documents, head, run.entries, run.overlay.changes(), rest);
    return { run, outcome: { ...run, batch } };
  }
}

function cursorRows(cursors: ReadonlyMap<string, Cursor | undefined>): Pick<Batch, "cursors" | "droppedCursors"> {
  return {
    cursors: [...cursors].flatMap(([name, cursor]) => (cursor ? [{ name, ...cursor }] : [])),
    droppedCursors: [...cursors].flatMap(([name, cursor]) => (cursor ? [] : [name])),
  };
}

function refuseUnavailable(cause: unknown): Refusal {
  const refusal =
    cause instanceof CommitInDoubt
      ? new Refusal(
          "write_unavailable",
          "The database connection broke during the write: read the object before you retry.",
        )
      : new Refusal("write_unavailable");
  refusal.cause = cause;
  return refusal;
}
