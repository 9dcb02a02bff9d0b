/** Compares commands and options in the README and guides with the reference generated from declarations. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { it } from "node:test";
import { root } from "../support/command.ts";

const reference = readFileSync(`${root}docs/reference/commands.md`, "utf8");

/** Options of each command, by its name. */
const commands = new Map(
  reference
    .split(/^## `postern /m)
    .slice(1)
    .map((section) => {
      const options = [...section.matchAll(/^\| `(-[^`]*)`/gm)].flatMap(([, cell = ""]) =>
        cell.match(/--?[a-z][\w-]*/g),
      );
      return [section.slice(0, section.indexOf("`")), new Set([...options, "--help"])] as const;
    }),
);

/** Returns each use of a command on a page: the text after `postern`, up to the end of the code or a pipe. */
function usesOn(page: string): readonly string[] {
  const fenced = [...page.matchAll(/^```(?:sh|console)\n([^]*?)^```$/gm)].flatMap(([, text = ""]) =>
    text.replaceAll("\\\n", " ").split("\n"),
  );
  const inline = [...page.replaceAll(/^```[^]*?^```$/gm, "").matchAll(/`([^`\n]+)`/g)].map(([, text = ""]) => text);
  return [...fenced, ...inline].flatMap((line) =>
    // A user, a namespace and a release have the same name as the command.
    Array.from(
      line
        .replace("sudo -u postern ", "")
        .replace(/^(?:kubectl|helm) .*/, "")
        .matchAll(/(?:^|[\s$])postern ([a-z][^|>#&]*)/g),
      ([, use = ""]) => use.trim(),
    ),
  );
}

it("the pages for users name only commands and options that exist", () => {
  assert.ok(commands.size > 30);
  const faults: string[] = [];
  let uses = 0;
  for (const file of ["README.md", ...globSync("docs/guides/*.md", { cwd: root })]) {
    for (const use of usesOn(readFileSync(`${root}${file}`, "utf8"))) {
      const words = use.split(/\s+/);
      const named = [words.slice(0, 2).join(" "), words[0] ?? ""].find((name) => commands.has(name));
      uses += 1;
      // Options of API operations follow from their fields, which other tests check.
      const options = named === "api" ? [] : words.filter((word) => /^--[a-z]/.test(word));
      const known = commands.get(named ?? "");
      const unknown = options.filter((word) => !known?.has(word) && !known?.has(word.replace(/-file$/, "")));
      if (named === undefined || unknown.length > 0) faults.push(`${file}: postern ${use} (${unknown.join(", ")})`);
    }
  }
  assert.ok(uses > 100);
  assert.deepEqual(faults, []);
});
