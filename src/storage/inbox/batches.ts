/** Group commit: everything that arrives while a transaction runs shares the next one. */
import type { InboxEngine, InboxStep, InboxRow } from "./inbox-engine.ts";
import type { SealedMessage } from "./inbox-messages.ts";

export interface BatchWork {
  readonly steps: readonly InboxStep[];
  /** Names that no other node may write meanwhile. */
  readonly locks?: readonly string[];
  readonly messages?: readonly SealedMessage[];
}

type BatchResult = readonly (readonly InboxRow[])[];

interface BatchItem {
  readonly work: BatchWork;
  readonly resolve: (rows: BatchResult) => void;
  readonly reject: (error: unknown) => void;
}

/** Bounds of a transaction. A single work may exceed them. */
const maxWorks = 256;
const maxMessages = 1024;
const maxBytes = 16 * 1024 * 1024;
/** A deadlock of two nodes: the transaction was rolled back, and can be repeated. */
const deadlock = "40P01";

export class Batches {
  readonly #engine: InboxEngine;
  #waiting: BatchItem[] = [];
  #isRunning = false;

  constructor(engine: InboxEngine) {
    this.#engine = engine;
  }

  /**
   * Resolves once the work is on disk, with the rows of each step. For messages, the ids of all that were stored in the
   * transaction follow.
   */
  write(work: BatchWork): Promise<BatchResult> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ work, resolve, reject });
      if (!this.#isRunning) this.#start();
    });
  }

  /** A microtask later, so that works of the same event-loop turn share a transaction. */
  #start(): void {
    this.#isRunning = true;
    queueMicrotask(() => {
      this.#run().catch(() => undefined);
    });
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      const items = this.#waiting.splice(0, this.#fitting());
      try {
        const locks = this.#locks(items);
        const steps = [...locks, ...items.flatMap(({ work }) => work.steps)];
        const messages = items.flatMap(({ work }) => work.messages ?? []);
        const rows = await this.#write(steps, messages);
        const stored = rows.slice(steps.length);
        let at = locks.length;
        for (const { work, resolve } of items) {
          const own = rows.slice(at, at + work.steps.length);
          resolve(work.messages ? [...own, ...stored] : own);
          at += work.steps.length;
        }
      } catch (error) {
        for (const { reject } of items) reject(error);
      }
    }
    this.#isRunning = false;
  }

  /** Returns how many of the waiting works the next transaction takes. */
  #fitting(): number {
    let [count, messages, bytes] = [0, 0, 0];
    for (const { work } of this.#waiting) {
      messages += work.messages?.length ?? 0;
      for (const { sealed } of work.messages ?? []) bytes += sealed.length;
      if (count > 0 && (count >= maxWorks || messages > maxMessages || bytes > maxBytes)) break;
      count += 1;
    }
    return count;
  }

  async #write(...work: Parameters<InboxEngine["write"]>): Promise<BatchResult> {
    try {
      return await this.#engine.write(...work);
    } catch (error) {
      if ((error as { readonly code?: unknown }).code !== deadlock) throw error;
      return await this.#engine.write(...work);
    }
  }

  /** SQLite has one writer. On PostgreSQL every node locks in the same order. */
  #locks(items: readonly BatchItem[]): readonly InboxStep[] {
    if (this.#engine.dialect === "sqlite") return [];
    const names = [...new Set(items.flatMap(({ work }) => work.locks ?? []))].sort();
    return names.map((name) => ({
      sql: "select pg_advisory_xact_lock(hashtextextended(?, 104))",
      parameters: [name],
    }));
  }
}
