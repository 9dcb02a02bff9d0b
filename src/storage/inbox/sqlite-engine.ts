import { closeSync, openSync } from "node:fs";
import type { Worker } from "node:worker_threads";
import { startThreadProgram } from "../../lib/thread-programs.ts";
import type { InboxEngine, InboxStep, InboxRow } from "./inbox-engine.ts";
import { packed } from "./packed-messages.ts";
import type { PackedMessages } from "./packed-messages.ts";

/** Undefined ends the thread. */
export type ToThread =
  | {
      readonly call: number;
      readonly isRead: boolean;
      readonly steps: readonly InboxStep[];
      readonly messages?: PackedMessages | undefined;
    }
  | undefined;

export interface FromThread {
  readonly call: number;
  readonly rows?: readonly (readonly InboxRow[])[];
  readonly error?: unknown;
}

type StepsResult = readonly (readonly InboxRow[])[];

interface PendingSteps {
  resolve(rows: StepsResult): void;
  reject(error: unknown): void;
}

/** Number of commits until the next checkpoint. */
const commitsPerCheckpoint = 16;
const checkpoint: InboxStep = { sql: "pragma wal_checkpoint(passive)", parameters: [] };

/** Writes, reads and checkpoints in separate threads, so that no webhook waits for a long list or a checkpoint. */
export function sqliteEngine(file: string): InboxEngine {
  const writer = new Thread(file);
  const reader = new Thread(file);
  const checkpoints = new Thread(file);
  let commits = 0;
  let isBusy = false;
  const committed = (): void => {
    commits += 1;
    if (isBusy || commits < commitsPerCheckpoint) return;
    commits = 0;
    isBusy = true;
    // A failed checkpoint loses nothing: the log stays until a later one succeeds.
    const ended = (): void => void (isBusy = false);
    checkpoints.ask(true, [checkpoint]).then(ended, ended);
  };
  return {
    dialect: "sqlite",
    async write(steps, messages = []) {
      const rows = await writer.ask(false, steps, messages.length > 0 ? packed(messages) : undefined);
      committed();
      return rows;
    },
    read: async (step) => (await reader.ask(true, [step]))[0] ?? [],
    async close() {
      await reader.close();
      await checkpoints.close();
      await writer.close();
    },
  };
}

/** Starts with the first request, and again with the next request if it died. */
class Thread {
  readonly #file: string;
  readonly #waiting = new Map<number, PendingSteps>();
  #lastCall = 0;
  #isClosed = false;
  #thread: Worker | undefined;
  #gone: Promise<void> = Promise.resolve();

  constructor(file: string) {
    this.#file = file;
  }

  /** @param messages their buffer moves to the thread */
  async ask(isRead: boolean, steps: readonly InboxStep[], messages?: PackedMessages): Promise<StepsResult> {
    if (this.#isClosed) throw new Error("use the inboxes: they are closed");
    const running = (this.#thread ??= this.#start());
    const call = (this.#lastCall += 1);
    return await new Promise((resolve, reject) => {
      this.#waiting.set(call, { resolve, reject });
      running.ref();
      running.postMessage(
        { call, isRead, steps, messages } satisfies ToThread,
        messages ? [messages.sealed.buffer] : [],
      );
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#thread?.postMessage(undefined);
    // Without this, the process could exit before the thread has ended.
    this.#thread?.ref();
    await this.#gone;
  }

  #start(): Worker {
    closeSync(openSync(this.#file, "a", 0o600));
    const program = new URL("./inbox-sqlite-thread.ts", import.meta.url);
    const started = startThreadProgram(program, { name: "inboxes", workerData: this.#file });
    let failure: unknown = new Error("the thread of the inboxes has stopped");
    started.on("message", ({ call, rows, error }: FromThread) => {
      const one = this.#waiting.get(call);
      this.#waiting.delete(call);
      if (this.#waiting.size === 0) started.unref();
      if (rows) one?.resolve(rows);
      else one?.reject(error);
    });
    started.on("error", (error) => (failure = error));
    this.#gone = new Promise((resolve) => {
      started.on("exit", () => {
        if (this.#thread === started) this.#thread = undefined;
        const lost = [...this.#waiting.values()];
        this.#waiting.clear();
        for (const one of lost) one.reject(failure);
        resolve();
      });
    });
    started.unref();
    return started;
  }
}
