/** Returns the lines that a change adds: the uncommitted change, or the last commit if the tree is clean. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

export interface AddedLine {
  readonly file: string;
  readonly line: number;
  readonly text: string;
}

/** @param paths pathspecs for Git */
export function readAddedLines(paths: readonly string[]): readonly AddedLine[] {
  const untracked = runGit("ls-files", "--others", "--exclude-standard", "--", ...paths)
    .split("\n")
    .filter(Boolean);
  const diff = runGit("diff", "--unified=0", "HEAD", "--", ...paths);
  if (diff === "" && untracked.length === 0)
    return readDiff(runGit("show", "--format=", "--unified=0", "HEAD", "--", ...paths));
  return [...readDiff(diff), ...untracked.flatMap(linesOf)];
}

function runGit(...args: readonly string[]): string {
  const run = spawnSync("git", args, { encoding: "utf8", maxBuffer: 256 * 1024 * 1024 });
  // A checkout without history, such as an archive, has no changed lines.
  return run.status === 0 ? run.stdout : "";
}

function linesOf(file: string): AddedLine[] {
  return readFileSync(file, "utf8")
    .split("\n")
    .map((text, at) => ({ file, line: at + 1, text }));
}

export function readDiff(diff: string): readonly AddedLine[] {
  const added: AddedLine[] = [];
  let file = "";
  let line = 0;
  for (const text of diff.split("\n")) {
    if (text.startsWith("+++ ")) file = text.replace(/^\+\+\+ (?:b\/)?/, "");
    else if (text.startsWith("@@@")) file = "";
    else if (text.startsWith("@@")) line = Number(/\+(\d+)/.exec(text)?.[1]);
    else if (text.startsWith("+") && file !== "") added.push({ file, line: line++, text: text.slice(1) });
  }
  return added;
}
