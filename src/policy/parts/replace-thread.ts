/**
 * Searches long texts in a separate thread, so that traffic continues meanwhile. The first long text starts the thread.
 */
import { hash } from "node:crypto";
import type { Worker } from "node:worker_threads";
import { startThreadProgram } from "../../lib/thread-programs.ts";
import { makeContained, runUnattended, reportFailure } from "../../lib/boundary.ts";
import type { LogFields } from "../../lib/log.ts";
import { endHungThread } from "../../lib/watch-thread.ts";
import { systemClock } from "../../lib/clock.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import { Lru } from "../../lib/collections/lru.ts";
import type { Replacement } from "./replacement.ts";
import { ReplaceFault } from "./replacing.ts";
import type { FoundMatch, Replaced, TextReplacement } from "./replacing.ts";

/** A job in the form sent to the thread. */
export interface ReplaceJob {
  readonly text: string;
  readonly replacements: readonly { readonly source: string; readonly to: Replacement }[];
  readonly maxLength: number;
}

export type ReplaceAnswer =
  | { readonly content: string; readonly matches: readonly FoundMatch[] }
  | { readonly fault: string; readonly isLimit: boolean };

export interface LongText {
  readonly text: string;
  readonly replacements: readonly TextReplacement[];
  readonly maxLength: number;
  /** Accounts take turns. */
  readonly owner: string;
}

interface PendingJob {
  readonly job: ReplaceJob;
  /** Identifies the replacements of the account. */
  readonly rule: string;
  settle(answer: ReplaceAnswer): void;
}

/** Maximum waiting texts, of one account and of all. */
const maxWaitingOfOwner = 16;
const maxWaiting = 128;
/** The thread limits its own work. If it sends nothing for this time, it hangs and is terminated. */
const silenceMs = 20_000;
const maxHeapMb = 256;

const full: ReplaceAnswer = { fault: "too many texts are waiting for a search", isLimit: true };
const died: ReplaceAnswer = { fault: "the search thread stopped unexpectedly", isLimit: false };

/** Maximum stored rules that hung the thread. Beyond that, the oldest one is tried again. */
const maxStopped = 1000;
const stopped: ReplaceAnswer = {
  fault: "this rule blocked the search thread until it was stopped: change the rule to run it again",
  isLimit: true,
};

export interface ReplaceThreadOptions {
  readonly program?: URL;
  readonly clock?: Clock;
}

/** Runs searches one after another. The first one starts the thread. */
export class ReplaceThread {
  readonly #program: URL;
  readonly #clock: Clock;
  readonly #byOwner = new Map<string, PendingJob[]>();
  readonly #stopped = new Lru<string, true>(maxStopped);
  #waiting = 0;
  #worker: Worker | undefined;
  #underWay: (PendingJob & { readonly silence: Timer }) | undefined;

  constructor({
    program = new URL("./replace-worker.ts", import.meta.url),
    clock = systemClock,
  }: ReplaceThreadOptions) {
    this.#program = program;
    this.#clock = clock;
  }

  /** Never rejects. */
  replace({ text, replacements, maxLength, owner }: LongText): Promise<Replaced<string> | ReplaceFault> {
    const { promise, resolve } = Promise.withResolvers<Replaced<string> | ReplaceFault>();
    const settle = (answer: ReplaceAnswer): void =>
      resolve("fault" in answer ? new ReplaceFault(answer.fault, answer.isLimit) : answer);
    const sources = replacements.map(({ pattern, to }) => ({ source: pattern.expression.pattern(), to }));
    const rule = hash("sha256", JSON.stringify([owner, sources]), "base64");
    const ofOwner = this.#byOwner.get(owner) ?? [];
    if (this.#stopped.get(rule)) settle(stopped);
    else if (this.#waiting >= maxWaiting || ofOwner.length >= maxWaitingOfOwner) settle(full);
    else {
      ofOwner.push({ job: { text, replacements: sources, maxLength }, rule, settle });
      this.#byOwner.set(owner, ofOwner);
      this.#waiting += 1;
      this.#next();
    }
    return promise;
  }

  #next(): void {
    if (this.#underWay) return;
    const taken = this.#takeTurn();
    if (!taken) {
      this.#worker?.unref();
      return;
    }
    this.#worker ??= this.#start();
    this.#worker.ref();
    this.#underWay = { ...taken, silence: this.#clock.after(silenceMs, () => this.#endHung()) };
    this.#worker.postMessage(taken.job);
  }

  /** Rejects the rule from now on, because it would also hang the next thread. */
  #endHung(): void {
    if (!this.#worker || !this.#underWay) return;
    this.#stopped.set(this.#underWay.rule, true);
    // The stack in the log is the thread's stack.
    const error = (event: string, fields?: LogFields): void =>
      reportFailure("task", Object.assign(new Error(event), fields));
    runUnattended("task", endHungThread("the search thread", this.#worker, { error }));
  }

  /** Returns the first text of the account whose turn it is, and moves the account to the end. */
  #takeTurn(): PendingJob | undefined {
    const [entry] = this.#byOwner;
    if (!entry) return undefined;
    const [owner, list] = entry;
    const taken = list.shift();
    this.#waiting -= 1;
    this.#byOwner.delete(owner);
    if (list.length > 0) this.#byOwner.set(owner, list);
    return taken;
  }

  #start(): Worker {
    const started = startThreadProgram(this.#program, {
      name: "replacements",
      resourceLimits: { maxOldGenerationSizeMb: maxHeapMb },
    });
    // Users cannot act on the cause of the crash. Their text does not change.
    started.on("error", () => {});
    const ended = (answer: ReplaceAnswer): void => this.#ended(answer);
    const end = (): void => runUnattended("task", started.terminate());
    started.on("message", makeContained("task", ended, end));
    const exited = (): void => {
      if (this.#worker === started) this.#worker = undefined;
      this.#ended(died);
    };
    started.on("exit", makeContained("task", exited, exited));
    return started;
  }

  #ended(answer: ReplaceAnswer): void {
    const { settle, silence } = this.#underWay ?? {};
    this.#underWay = undefined;
    silence?.cancel();
    settle?.(answer);
    this.#next();
  }
}

const shared = new ReplaceThread({});

/** Replaces text in the one such thread of this process or thread. Never rejects. */
export function replaceInThread(text: LongText): Promise<Replaced<string> | ReplaceFault> {
  return shared.replace(text);
}
