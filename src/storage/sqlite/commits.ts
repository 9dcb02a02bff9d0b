/** Commits to SQLite in a thread of their own: while the disk works, this thread goes on. */
import type { Worker } from "node:worker_threads";
import { startThreadProgram } from "../../lib/thread-programs.ts";
import { letGo, reportFailure } from "../../lib/boundary.ts";
import { systemClock } from "../../lib/clock.ts";
import type { LogFields } from "../../lib/log.ts";
import { endHungThread } from "../../lib/watch-thread.ts";
import { CommitInDoubt, superseded } from "../database/database.ts";
import type { Database, Step } from "../database/database.ts";

/** The steps of one transaction; undefined: there will be no more. */
export type ToThread = readonly Step[] | undefined;

export type Outcome =
  | { readonly is: "stored" | "unmet" }
  /** Nothing was stored, or that is not known. */
  | { readonly is: "failed" | "in doubt"; readonly error: unknown };

export interface Commits extends Pick<Database, "store"> {
  close(): Promise<void>;
}

/** Longer than a disk that is slow takes for a commit. What becomes of the commit is in doubt then, and found out. */
const silenceMs = 60_000;

function endHung(thread: Worker): void {
  // The stack in the log is that of the thread.
  const error = (event: string, fields?: LogFields): void =>
    reportFailure("task", Object.assign(new Error(event), fields));
  letGo("task", endHungThread("the commit thread", thread, { error }));
}

/** The thread starts at once, and again with the next commit should it have died. */
export function commitsTo(file: string): Commits {
  let thread: Worker | undefined;
  let gone: Promise<void> = Promise.resolve();
  let answered: (outcome: Outcome) => void = () => {};

  const start = (): Worker => {
    const started = startThreadProgram(new URL("./thread.ts", import.meta.url), { name: "commits", workerData: file });
    let failure: unknown = new Error("the commit thread has stopped");
    started.on("message", (outcome: Outcome) => answered(outcome));
    started.on("error", (error) => (failure = error));
    gone = new Promise((resolve) => {
      started.on("exit", () => {
        if (thread === started) thread = undefined;
        answered({ is: "in doubt", error: failure });
        resolve();
      });
    });
    started.unref();
    return started;
  };

  thread = start();
  return {
    async store(steps) {
      const writing = (thread ??= start());
      const silence = systemClock.after(silenceMs, () => endHung(writing));
      const outcome = await new Promise<Outcome>((resolve) => {
        answered = resolve;
        writing.postMessage(steps);
        writing.ref();
      });
      silence.cancel();
      writing.unref();
      if (outcome.is === "unmet") throw superseded();
      if (outcome.is === "in doubt") throw new CommitInDoubt("commit", { cause: outcome.error });
      if (outcome.is === "failed") throw outcome.error;
    },
    async close() {
      thread?.postMessage(undefined);
      // Where nothing else keeps the process, its end would come first.
      thread?.ref();
      await gone;
    },
  };
}
