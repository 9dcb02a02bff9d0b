/** The thread that searches long texts, one after the other. */
import { parentPort } from "node:worker_threads";
import type { ReplaceAnswer, ReplaceJob } from "./replace-thread.ts";
import { patternFor } from "./shared-patterns.ts";
import { ReplaceFault, replaceMatches } from "./replacing.ts";
import type { TextReplacement } from "./replacing.ts";

/** Maximum CPU time for one text. Wall time would make texts fail on a busy machine. */
const maxWorkMs = 500;
/** Maximum cost of one search: instructions of the expression times length of the text. */
const maxSearch = 32 * 1024 * 1024;

parentPort?.on("message", (job: ReplaceJob) => parentPort?.postMessage(runReplaceJob(job)));

function runReplaceJob({ text, replacements: given, maxLength }: ReplaceJob): ReplaceAnswer {
  const replacements: TextReplacement[] = [];
  for (const { source, to } of given) {
    const pattern = patternFor(source);
    if (typeof pattern === "string") return { fault: pattern, isLimit: false };
    replacements.push({ pattern, to });
  }
  const work = replaceMatches(text, replacements, { maxLength, maxSearch });
  const until = readCpuMs() + maxWorkMs;
  for (;;) {
    const step = work.next();
    if (step.done) return step.value instanceof ReplaceFault ? faultOf(step.value) : step.value;
    if (readCpuMs() > until) return { fault: "the replacements take too long", isLimit: true };
  }
}

function faultOf({ message, isFinal }: ReplaceFault): ReplaceAnswer {
  return { fault: message, isLimit: isFinal };
}

function readCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
