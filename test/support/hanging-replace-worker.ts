/**
 * Replaces the thread that searches texts. It hangs for the text "hang FILE", after it has created the file, and dies for
 * the text "die".
 */
import { writeFileSync } from "node:fs";
import { parentPort } from "node:worker_threads";
import type { ReplaceAnswer, ReplaceJob } from "../../src/policy/parts/replace-thread.ts";

parentPort?.on("message", ({ text }: ReplaceJob) => {
  if (text.startsWith("hang ")) {
    writeFileSync(text.slice("hang ".length), "");
    neverEnds();
  }
  if (text === "die") process.exit(1);
  parentPort?.postMessage({ content: `searched ${text}`, matches: [] } satisfies ReplaceAnswer);
});

function neverEnds(): never {
  for (let turns = 0; ; turns += 1) if (turns < 0) throw new Error("it never ends");
}
