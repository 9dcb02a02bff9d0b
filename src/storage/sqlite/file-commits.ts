/** Commits to SQLite in a separate thread, so this thread does not wait for the disk. */
import type { Worker } from "node:worker_threads";
import { startThreadProgram } from "../../lib/thread-programs.ts";
import { runUnattended, reportFailure } from "../../lib/boundary.ts";
import { systemClock } from "../../lib/clock.ts";
import type { LogFields } from "../../lib/log.ts";
import { endHungThread } from "../../lib/watch-thread.ts";
import { CommitInDoubt, makeSuperseded } from "../database/database.ts";
import type { Database, DatabaseStep } from "../database/database.ts";

/** The steps of one transaction; undefined ends the thread. */
export type ToThread = readonly DatabaseStep[] | undefined;

export type FileCommitOutcome =
  | { readonly is: "stored" | "unmet" }
  /** Nothing was stored, or the outcome is unknown. */
  | { readonly is: "failed" | "in doubt"; readonly error: unknown };

export interface FileCommits extends Pick<Database, "store"> {
  close(): Promise<void>;
}

/** Longer than a slow disk takes for a commit. After this time the commit is in doubt, and its outcome is checked. */
const silenceMs = 60_000;

function endHung(thread: Worker): void {
  // The stack in the log is the thread's stack.
  const error = (event: string, fields?: LogFields): void =>
    reportFailure("task", Object.assign(new Error(event), fields));
  runUnattended("task", endHungThread("the commit thread", thread, { error }));
}

/** Starts the thread immediately, and again with the next commit if it died. */
export function commitsTo(file: string): FileCommits {
  let thread: Worker | undefined;
  let gone: Promise<void> = Promise.resolve();
  let answered: (outcome: FileCommitOutcome) => void = () => {};

  const start = (): Worker => {
    const started = startThreadProgram(new URL("./sqlite-thread.ts", import.meta.url), {
      name: "commits",
      workerData: file,
    });
    let failure: unknown = new Error("the commit thread has stopped");
    started.on("message", (outcome: FileCommitOutcome) => answered(outcome));
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
      const outcome = await new Promise<FileCommitOutcome>((resolve) => {
        answered = resolve;
        writing.postMessage(steps);
        writing.ref();
      });
      silence.cancel();
      writing.unref();
      if (outcome.is === "unmet") throw makeSuperseded();
      if (outcome.is === "in doubt") throw new CommitInDoubt("commit", { cause: outcome.error });
      if (outcome.is === "failed") throw outcome.error;
    },
    async close() {
      thread?.postMessage(undefined);
      // Without this, the process could exit before the thread has ended.
      thread?.ref();
      await gone;
    },
  };
}
