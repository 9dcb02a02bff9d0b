/** Long texts are searched in a thread of their own: traffic goes on meanwhile. Started with the first of them. */
import type { Worker } from "node:worker_threads";
import { startThreadProgram } from "../../lib/thread-programs.ts";
import { contained, letGo, reportFailure } from "../../lib/boundary.ts";
import type { LogFields } from "../../lib/log.ts";
import { endHungThread } from "../../lib/watch-thread.ts";
import { systemClock } from "../../lib/clock.ts";
import type { Timer } from "../../lib/clock.ts";
import type { Replacement } from "./replacement.ts";
import { ReplaceFault } from "./replacing.ts";
import type { FoundMatch, Replaced, TextReplacement } from "./replacing.ts";

/** As it goes to the thread. */
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

interface Waiting {
  readonly job: ReplaceJob;
  settle(answer: ReplaceAnswer): void;
}

/** Texts that wait, of one account and of all. */
const maxWaitingOfOwner = 16;
const maxWaiting = 128;
/** The thread bounds its own work; one that says nothing for so long hangs, and is ended. */
const silenceMs = 20_000;
const maxHeapMb = 256;

const full: ReplaceAnswer = { fault: "too many texts are waiting for a search", isLimit: true };
const died: ReplaceAnswer = { fault: "the search thread stopped unexpectedly", isLimit: false };

const byOwner = new Map<string, Waiting[]>();
let waiting = 0;
let worker: Worker | undefined;
let underWay: { readonly settle: Waiting["settle"]; readonly silence: Timer } | undefined;

/** Never rejects. */
export function replaceInThread({ text, replacements, maxLength, owner }: LongText) {
  const { promise, resolve } = Promise.withResolvers<Replaced<string> | ReplaceFault>();
  const settle = (answer: ReplaceAnswer): void =>
    resolve("fault" in answer ? new ReplaceFault(answer.fault, answer.isLimit) : answer);
  const ofOwner = byOwner.get(owner) ?? [];
  if (waiting >= maxWaiting || ofOwner.length >= maxWaitingOfOwner) settle(full);
  else {
    const sources = replacements.map(({ pattern, to }) => ({ source: pattern.expression.pattern(), to }));
    ofOwner.push({ job: { text, replacements: sources, maxLength }, settle });
    byOwner.set(owner, ofOwner);
    waiting += 1;
    next();
  }
  return promise;
}

function next(): void {
  if (underWay) return;
  const taken = takeTurn();
  if (!taken) {
    worker?.unref();
    return;
  }
  worker ??= start();
  worker.ref();
  underWay = { settle: taken.settle, silence: systemClock.after(silenceMs, endHung) };
  worker.postMessage(taken.job);
}

function endHung(): void {
  const error = (event: string, fields?: LogFields): void => reportFailure("task", new Error(event), fields);
  if (worker) letGo("task", endHungThread("the search thread", worker, { error }));
}

/** The first of the account whose turn it is; which then stands last. */
function takeTurn(): Waiting | undefined {
  const [entry] = byOwner;
  if (!entry) return undefined;
  const [owner, list] = entry;
  const taken = list.shift();
  waiting -= 1;
  byOwner.delete(owner);
  if (list.length > 0) byOwner.set(owner, list);
  return taken;
}

function start(): Worker {
  const started = startThreadProgram(new URL("./replace-worker.ts", import.meta.url), {
    name: "replacements",
    resourceLimits: { maxOldGenerationSizeMb: maxHeapMb },
  });
  // What it died of is of no use to anybody who may see it: its text stays as it was.
  started.on("error", () => {});
  const end = (): void => letGo("task", started.terminate());
  started.on("message", contained("task", ended, end));
  const exited = (): void => {
    if (worker === started) worker = undefined;
    ended(died);
  };
  started.on("exit", contained("task", exited, exited));
  return started;
}

function ended(answer: ReplaceAnswer): void {
  const { settle, silence } = underWay ?? {};
  underWay = undefined;
  silence?.cancel();
  settle?.(answer);
  next();
}
