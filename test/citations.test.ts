/** References of code, tests and pages must exist: controls, pages, sections of pages. */
import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { decisionsIndex, readDecisions } from "../scripts/reference/decisions.ts";

const code = globSync(["src/**/*.ts", "test/**/*.ts", "scripts/**/*.ts", "bench/**/*.ts", "sdk/src/*.ts"]);
const pages = [
  ...globSync("docs/**/*.md", { exclude: ["docs/site/{node_modules,dist}/**"] }),
  ...globSync("*.md"),
  "sdk/README.md",
  "bench/README.md",
];
const read = (file: string): string => readFileSync(file, "utf8");

/** In comments, and in test titles. */
const citedId = /(?:[(, ]|^|it\(")((?:A|W|D|R|K|I|P|G|S|X)\d{1,2})(?=[),:; ])/gm;
const idsOf = (page: string): ReadonlySet<string | undefined> =>
  new Set([...read(page).matchAll(/^(?:\| |- \*\*)([A-Z]\d{1,2})(?: +\||\*\*)/gm)].map(([, id]) => id));
const controls = idsOf("docs/security-controls.md");
/** Rules of the agent protocol. */
const rules = idsOf("docs/agent-protocol.md");

describe("the security controls", () => {
  it("the security controls have unique ids", () => {
    assert.ok(controls.size > 40);
    assert.equal(read("docs/security-controls.md").match(/^\| [A-Z]\d{1,2} +\|/gm)?.length, controls.size);
  });

  it("the security controls that are cited exist", () => {
    const faults = code.flatMap((file) =>
      comments(read(file)).flatMap((text) =>
        [...text.matchAll(citedId)]
          .filter(([, id]) => !controls.has(id) && !rules.has(id))
          .map(([, id]) => `${file}: ${id}`),
      ),
    );
    assert.deepEqual([...new Set(faults)], []);
  });

  it("the security controls are each named by a test", () => {
    const tests = globSync(["src/**/*.test.ts", "test/**/*.test.ts"]).map(read).join("\n");
    const untested = [...controls].filter((id) => !new RegExp(`["\`(, /]${id}[:,)/ ]`).test(tests));
    assert.deepEqual(untested, []);
  });
});

describe("references to pages", () => {
  it("references to pages lead to existing files", () => {
    const faults = pages.flatMap((page) =>
      [...read(page).matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)/g)]
        .filter(([, target = ""]) => !existsSync(join(dirname(page), target)))
        .map(([, target]) => `${page}: ${target}`),
    );
    assert.deepEqual(faults, []);
  });

  it("references to pages in code name existing pages and sections", () => {
    const faults: string[] = [];
    for (const file of code) {
      for (const [cited = "", name = "", sections = ""] of read(file).matchAll(
        /\b(semantics|agent-protocol), ((?:"[A-Z][^"\n]*"(?:, )?)+)/g,
      )) {
        const page = name === "semantics" ? "docs/reference/semantics.md" : "docs/agent-protocol.md";
        for (const [, section] of sections.matchAll(/"([^"]+)"/g)) {
          if (!read(page).includes(`\n## ${section}\n`)) faults.push(`${file}: ${cited}`);
        }
      }
      for (const [, page = ""] of read(file).matchAll(/\b(docs\/[\w/-]+\.md)\b/g)) {
        if (!existsSync(page)) faults.push(`${file}: ${page}`);
      }
      for (const [cited, page = ""] of read(file).matchAll(/[( ]([\w-]+\.md) §?\d/g)) {
        if (!existsSync(join("docs", page))) faults.push(`${file}: ${cited}`);
      }
    }
    assert.deepEqual(faults, []);
  });
});

describe("the records of decisions", () => {
  const folder = "docs/decisions";
  const mostRecords = 52;
  const mostWords = 350;
  const records = readDecisions();

  it("the records of decisions have one layout: number, title, status, date and four parts in order", () => {
    assert.ok(records.length >= 16);
    assert.ok(records.length <= mostRecords, `${records.length} records: merge those on one subject`);
    for (const { file, number, date, status, text } of records) {
      assert.equal(Number(file.slice(0, 4)), number, file);
      const days = date.match(/^(\d{4}-\d\d-\d\d)(?:, changed (\d{4}-\d\d-\d\d))?$/);
      assert.ok(days, `${file}: "${date}" is a day, or a day and "changed" with another`);
      for (const day of days.slice(1)) assert.ok(day === undefined || !Number.isNaN(Date.parse(day)), file);
      const [, successor] = /\((\S+)\)/.exec(status) ?? [];
      assert.ok(successor === undefined || existsSync(join(folder, successor)), `${file}: ${status}`);
      const parts = [...text.matchAll(/^## (.+)$/gm)].map(([, part]) => part);
      assert.deepEqual(parts, ["Context", "Decision", "Consequences", "Also considered"], file);
    }
  });

  it("the records of decisions have at most 350 words beside their tables", () => {
    const counts = records.map(({ file, text }) => ({
      file,
      words: text
        .replace(/^\|.*$/gm, "")
        .split(/\s+/)
        .filter((word) => /[\p{L}\d]/u.test(word)).length,
    }));
    assert.deepEqual(
      counts.filter(({ words }) => words > mostWords),
      [],
    );
  });

  it("the records of decisions are all in the index, in order, and numbered without a gap", () => {
    const [path, content] = decisionsIndex();
    assert.equal(read(path), content, "run `npm run generate`");
    assert.deepEqual(
      records.map(({ number }) => number),
      records.map((_, at) => at + 1),
    );
  });

  it("the records of decisions exist for each number that code and pages cite", () => {
    const faults = [
      ...code,
      ...pages,
      ...globSync("bin/*.js"),
      ...globSync("deploy/**/*", { withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name)),
    ].flatMap((file) =>
      [...read(file).matchAll(/\b(?:decisions?|records?) (\d+)\b|decisions\/(\d{4})/gi)]
        .filter(([, number, long]) => Number(number ?? long) > records.length)
        .map(([cited]) => `${file}: ${cited}`),
    );
    assert.deepEqual(faults, []);
  });

  it("the record of dependencies names each package that runs in the server, and no other", () => {
    const manifest = JSON.parse(read("package.json")) as { readonly dependencies: Readonly<Record<string, string>> };
    const named = [...read(`${folder}/0014-dependencies.md`).matchAll(/^\| `([^`]+)` +\|/gm)].map(([, name]) => name);
    assert.deepEqual(named, Object.keys(manifest.dependencies).sort());
  });
});

describe("the recipes for additions", () => {
  const sources = globSync("src/**/*.ts").filter((file) => !file.endsWith(".test.ts"));
  const page = read("CONTRIBUTING.md");
  const examples = [...page.matchAll(/^For example ((?:`[^`]+`(?: or )?)+): ([^]+?)\.\n(?:\n|$)/gm)];

  it("the recipes for additions name every file in which their example occurs, and no other", () => {
    assert.equal(examples.length, page.match(/^### /gm)?.length, "one for each recipe");
    for (const [text, words = "", files = ""] of examples) {
      const quoted = (part: string): string[] => [...part.matchAll(/`([^`]+)`/g)].map(([, one]) => one as string);
      const wanted = quoted(words).map((word) => new RegExp(`(?<![\\w-])${RegExp.escape(word)}(?![\\w-])`));
      const found = sources.filter((file) => wanted.some((word) => word.test(read(file))));
      assert.deepEqual(found.sort(), quoted(files).sort(), text);
    }
  });

  it("the recipes for additions name files and folders that are there", () => {
    const recipes = page.slice(page.indexOf("## Recipes"));
    const named = [...recipes.matchAll(/`((?:src|test|docs|sdk|scripts)\/[\w./-]*)`/g)].map(([, one]) => one as string);
    assert.deepEqual(
      named.filter((path) => !/NAME|…/.test(path) && !existsSync(path)),
      [],
    );
  });
});

describe("the table of complaints", () => {
  it("the table of complaints names existing tests", () => {
    const page = read("test/README.md");
    const rows = page.slice(page.indexOf("## What users of tunnels complain of")).match(/^\| [A-Z].*$/gm) ?? [];
    const named = rows.slice(1).flatMap((row) => {
      const found = [...row.matchAll(/`([^`]+\.test\.ts)`: "([^"]+)"/g)];
      assert.ok(found.length > 0, row);
      return found.map(([, file = "", title = ""]) => [file, title] as const);
    });
    assert.ok(named.length > 20);
    const titled = (line: string): boolean => /^\s*it\(/.test(line);
    const absent = named.filter(
      ([file, title]) =>
        !read(file)
          .split("\n")
          .some((line) => titled(line) && line.includes(title)),
    );
    assert.deepEqual(absent, []);
  });
});

describe("the dependencies of Postern", () => {
  interface Locked {
    readonly version: string;
    readonly resolved?: string;
    readonly integrity?: string;
    readonly hasInstallScript?: boolean;
    readonly link?: boolean;
  }
  const { packages } = JSON.parse(read("package-lock.json")) as { readonly packages: Readonly<Record<string, Locked>> };
  const locked = Object.entries(packages).filter(([path, { link }]) => path.includes("node_modules/") && !link);

  it("X1: the dependencies of Postern are locked with integrity, and none comes from a repository or a separate address", () => {
    assert.ok(locked.length > 50);
    const faults = locked.filter(
      ([, { integrity, resolved }]) => integrity === undefined || /^(git|http:|file:)/.test(resolved ?? ""),
    );
    assert.deepEqual(faults, []);
  });

  it("X1: the dependencies of Postern have exact versions, and run nothing during installation", () => {
    const manifest = JSON.parse(read("package.json")) as Readonly<Record<string, Readonly<Record<string, string>>>>;
    for (const group of ["dependencies", "devDependencies", "optionalDependencies"]) {
      for (const [name, version] of Object.entries(manifest[group] ?? {}))
        assert.match(version, /^(npm:[^@]*@?[^@]+@)?\d+\.\d+\.\d+$/, name);
    }
    assert.match(read(".npmrc"), /^ignore-scripts=true$/m);
  });
});

/** Returns comments and test titles. */
function comments(source: string): string[] {
  const found = source.matchAll(/\/\*\*?[\s\S]*?\*\/|\/\/[^\n]*|\b(?:it|test|describe)\(\s*["`][^"`\n]*/g);
  return [...found].map(([text]) => text);
}
