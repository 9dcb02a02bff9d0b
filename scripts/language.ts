/**
 * Checks the language of texts for people (`npm run check`): banned phrases in changed lines, a maximum count of each
 * phrase in `docs/`, long sentences, the share of the passive voice per page, and spelling. `-- --lower` reduces the
 * maximum counts to the current ones.
 */
import { spawnSync } from "node:child_process";
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { readAddedLines } from "./language/changed-lines.ts";
import { passiveShare } from "./language/passive.ts";
import { patterns } from "./language/patterns.ts";
import { sentencesOf } from "./language/sentences.ts";

const ceilingsFile = "scripts/language/ceilings.json";
const mostWords = 30;
/** Maximum percentage of passive sentences in a page. Older pages above it have their own maximum in the file. */
const mostPassive = 25;
/** Texts for people, and the sources of generated pages. */
const readByPeople = [
  "README.md",
  "docs/*.md",
  "docs/guides",
  "docs/concepts",
  "docs/architecture",
  "docs/decisions",
  "docs/site/*.md",
  "src/lib/errors",
  "src/settings",
  "src/cli",
  "console/src",
];
/** Pages that must not contain long sentences. */
const plainPages = [
  "docs/concepts/*.md",
  "docs/architecture.md",
  "docs/architecture/*.md",
  "docs/decisions/*.md",
  "docs/guides/troubleshooting.md",
  "docs/{comparison,faq,glossary}.md",
  "docs/site/*.md",
];
const spelled = [
  "README.md",
  "docs/*.md",
  ...["guides", "concepts", "architecture", "decisions"].map((name) => `docs/${name}/*.md`),
];

const isPassive = (name: string): boolean => name.startsWith("passive voice of ");

const faults: string[] = [];
for (const { file, line, text } of readAddedLines(readByPeople)) {
  if (/\.test\.tsx?$/.test(file)) continue;
  for (const { name, matches, hint } of patterns) {
    if (text.search(matches) !== -1) faults.push(`${file}:${line}: "${name}": ${hint}`);
  }
}

const pages = globSync("docs/**/*.md", { exclude: ["docs/site/{node_modules,dist}/**"] }).sort();
const texts = pages.map((page) => readFileSync(page, "utf8"));
const counts = Object.fromEntries(
  patterns.map(({ name, matches }) => [name, texts.reduce((sum, text) => sum + (text.match(matches)?.length ?? 0), 0)]),
);
for (const page of ["README.md", "CONTRIBUTING.md", "SECURITY.md", ...pages]) {
  const share = passiveShare(readFileSync(page, "utf8"));
  if (share !== undefined) counts[`passive voice of ${page}, %`] = Math.ceil(share * 100);
}
const ceilings = JSON.parse(readFileSync(ceilingsFile, "utf8")) as Record<string, number>;
for (const [name, count] of Object.entries(counts)) {
  const ceiling = ceilings[name] ?? (isPassive(name) ? mostPassive : 0);
  if (count <= ceiling) continue;
  faults.push(
    isPassive(name)
      ? `${name}: ${count}, and the ceiling is ${ceiling}: name who acts, as in \`the edge closes the connection\``
      : `docs: "${name}" occurs ${count} times, and the ceiling is ${ceiling}`,
  );
}
if (process.argv.includes("--lower")) {
  const lowered = Object.fromEntries(
    Object.entries(counts)
      .map(([name, count]): [string, number] => [name, Math.min(count, ceilings[name] ?? count)])
      .filter(([name, count]) => !isPassive(name) || count > mostPassive),
  );
  writeFileSync(ceilingsFile, `${JSON.stringify(lowered, undefined, 2)}\n`);
}

for (const page of globSync(plainPages)) {
  for (const { line, text, words } of sentencesOf(readFileSync(page, "utf8"))) {
    if (words > mostWords) faults.push(`${page}:${line}: a sentence of ${words} words: ${text.slice(0, 80)} …`);
  }
}

const speller = spawnSync(
  process.execPath,
  ["node_modules/cspell/bin.mjs", "--no-progress", "--no-summary", "--gitignore", ...spelled],
  { encoding: "utf8" },
);
if (speller.status !== 0)
  faults.push(speller.stdout.trim(), speller.stderr.trim(), "Add a correct word to cspell.json.");

for (const fault of faults) if (fault !== "") process.stdout.write(`${fault}\n`);
if (faults.length > 0) process.exitCode = 1;
