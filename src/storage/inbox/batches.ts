/** Group commit: everything that arrives while a transaction runs shares the next one. */
import type { InboxEngine, InboxStep, Row } from "./engine.ts";

export interface Work {
  readonly steps: readonly InboxStep[];
  /** Names that no other node may write meanwhile. */
  readonly locks?: readonly string[];
}

type Result = readonly (readonly Row[])[];

interface Item {
  readonly work: Work;
  readonly resolve: (rows: Result) => void;
  readonly reject: (error: unknown) => void;
}

/** Maximum number of works in a transaction. */
const maxWorks = 256;
/** A deadlock of two nodes: the transaction was rolled back, and can be repeated. */
const deadlock = "40P01";

export class Batches {
  readonly #engine: InboxEngine;
  #waiting: Item[] = [];
  #isRunning = false;

  constructor(engine: InboxEngine) {
    this.#engine = engine;
  }

  /** Resolves with the rows of each step once they are on disk. */
  write(work: Work): Promise<Result> {
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
      const items = this.#waiting.splice(0, maxWorks);
      try {
        const locks = this.#locks(items);
        const rows = await this.#write([...locks, ...items.flatMap(({ work }) => work.steps)]);
        let at = locks.length;
        for (const { work, resolve } of items) {
          resolve(rows.slice(at, at + work.steps.length));
          at += work.steps.length;
        }
      } catch (error) {
        for (const { reject } of items) reject(error);
      }
    }
    this.#isRunning = false;
  }

  async #write(steps: readonly InboxStep[]): Promise<Result> {
    try {
      return await this.#engine.write(steps);
    } catch (error) {
      if ((error as { readonly code?: unknown }).code !== deadlock) throw error;
      return await this.#engine.write(steps);
    }
  }

  /** SQLite has one writer. On PostgreSQL every node locks in the same order. */
  #locks(items: readonly Item[]): readonly InboxStep[] {
    if (this.#engine.dialect === "sqlite") return [];
    const names = [...new Set(items.flatMap(({ work }) => work.locks ?? []))].sort();
    return names.map((name) => ({
      sql: "select pg_advisory_xact_lock(hashtextextended(?, 104))",
      parameters: [name],
    }));
  }
}
