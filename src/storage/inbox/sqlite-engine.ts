import { closeSync, openSync } from "node:fs";
import type { Worker } from "node:worker_threads";
import { startThreadProgram } from "../../lib/thread-programs.ts";
import type { InboxEngine, InboxStep, Row } from "./engine.ts";

/** Undefined ends the thread. */
export type ToThread =
  | { readonly call: number; readonly isRead: boolean; readonly steps: readonly InboxStep[] }
  | undefined;

export interface FromThread {
  readonly call: number;
  readonly rows?: readonly (readonly Row[])[];
  readonly error?: unknown;
}

interface Waiting {
  resolve(rows: readonly (readonly Row[])[]): void;
  reject(error: unknown): void;
}

/** Starts the thread with the first request, and again with the next request if it died. */
export function sqliteEngine(file: string): InboxEngine {
  const waiting = new Map<number, Waiting>();
  let lastCall = 0;
  let isClosed = false;
  let thread: Worker | undefined;
  let gone: Promise<void> = Promise.resolve();

  const start = (): Worker => {
    closeSync(openSync(file, "a", 0o600));
    const program = new URL("./sqlite-thread.ts", import.meta.url);
    const started = startThreadProgram(program, { name: "inbox", workerData: file });
    let failure: unknown = new Error("the thread of the inboxes has stopped");
    started.on("message", ({ call, rows, error }: FromThread) => {
      const one = waiting.get(call);
      waiting.delete(call);
      if (waiting.size === 0) started.unref();
      if (rows) one?.resolve(rows);
      else one?.reject(error);
    });
    started.on("error", (error) => (failure = error));
    gone = new Promise((resolve) => {
      started.on("exit", () => {
        if (thread === started) thread = undefined;
        const lost = [...waiting.values()];
        waiting.clear();
        for (const one of lost) one.reject(failure);
        resolve();
      });
    });
    started.unref();
    return started;
  };
  const ask = async (isRead: boolean, steps: readonly InboxStep[]): Promise<readonly (readonly Row[])[]> => {
    if (isClosed) throw new Error("use the inboxes: they are closed");
    const running = (thread ??= start());
    const call = (lastCall += 1);
    return await new Promise((resolve, reject) => {
      waiting.set(call, { resolve, reject });
      running.ref();
      running.postMessage({ call, isRead, steps } satisfies ToThread);
    });
  };

  return {
    dialect: "sqlite",
    write: async (steps) => await ask(false, steps),
    read: async (step) => (await ask(true, [step]))[0] ?? [],
    async close() {
      isClosed = true;
      thread?.postMessage(undefined);
      // Without this, the process could exit before the thread has ended.
      thread?.ref();
      await gone;
    },
  };
}
