/** The behaviour of `npm test`, on generated test files. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { makeQueue, openQueue } from "../scripts/test-queue.ts";

describe("npm test", () => {
  const directory = mkdtempSync(join(tmpdir(), "postern-runner-"));
  let run: { readonly status: number | null; readonly stdout: string };
  let said: readonly string[];
  let files: readonly string[];

  before(() => {
    const log = join(directory, "log");
    writeFileSync(log, "");
    files = ["one", "two", "three", "four", "five", "six"].map((name) => {
      const file = join(directory, `${name}.test.ts`);
      writeFileSync(
        file,
        `import { appendFileSync } from "node:fs";
import { after, before, it } from "node:test";
const say = (what: string) => appendFileSync(${JSON.stringify(log)}, process.pid + " ${name} " + what + "\\n");
say("is loaded");
before(() => say("begins"));
after(() => say("ends"));
it("${name} is there", () => {});
`,
      );
      return file;
    });
    writeFileSync(
      files[2] as string,
      `import { it } from "node:test";\nit("three fails", () => {\n  throw new Error("in three");\n});\n`,
    );
    // By then, the runner has received its process's output for other files.
    writeFileSync(files[3] as string, `setTimeout(() => process.exit(0), 500);\nawait new Promise(() => {});\n`);
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    run = spawnSync(process.execPath, ["bin/here.js", "scripts/test.ts", ...files], { encoding: "utf8", env });
    said = readFileSync(log, "utf8").trim().split("\n");
  });

  after(() => rmSync(directory, { recursive: true }));

  it("npm test runs every file once, and runs each file's hooks before its process loads the next file", () => {
    assert.equal(said.length, 4 * 3, run.stdout);
    const byProcess = Object.values(Object.groupBy(said, (line) => line.split(" ")[0] as string));
    for (const lines of byProcess as string[][]) {
      for (let at = 0; at < lines.length; at += 3) {
        const name = lines[at]?.split(" ")[1];
        assert.deepEqual(
          lines.slice(at, at + 3).map((line) => line.replace(/^\d+ /, "")),
          [`${name} is loaded`, `${name} begins`, `${name} ends`],
        );
      }
    }
  });

  it("npm test fails with the line of the failure, and names the file that ended a process", () => {
    assert.equal(run.status, 1);
    assert.match(run.stdout, /test at \S*three\.test\.ts:2:1\n✖ three fails/);
    assert.match(run.stdout, /^not run to the end, since their process has ended: \S*four\.test\.ts$/m);
  });

  it("npm test repeats failed files separately, and fails with those that fail again", () => {
    const place = mkdtempSync(join(directory, "again-"));
    const written = (name: string, text: string): string => {
      const file = join(place, `${name}.test.ts`);
      writeFileSync(
        file,
        `import { existsSync, writeFileSync } from "node:fs";\nimport { it } from "node:test";\n${text}`,
      );
      return file;
    };
    const mark = JSON.stringify(join(place, "mark"));
    const once = `if (existsSync(${mark})) return;\nwriteFileSync(${mark}, "");\nthrow new Error("in once");`;
    const unstable = written("once", `it("once fails", () => {${once}});\n`);
    const broken = written("always", `it("always fails", () => {\nthrow new Error("in always");\n});\n`);
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const ran = (...files: readonly string[]) => {
      rmSync(join(place, "mark"), { force: true });
      return spawnSync(process.execPath, ["bin/here.js", "scripts/test.ts", "--again", ...files], {
        encoding: "utf8",
        env,
      });
    };
    const mended = ran(unstable, files[0] as string, files[1] as string);
    assert.match(mended.stdout, /Error: in once/);
    assert.match(mended.stdout, /^unstable, failed beside others and passed by themselves: \S*once\.test\.ts$/m);
    assert.equal(mended.status, 0);
    const failing = ran(unstable, broken, files[0] as string);
    assert.match(failing.stdout, /^unstable, .*: \S*once\.test\.ts$/m);
    assert.equal(failing.status, 1);
  });

  it("npm test counts the tests that were skipped because a program is missing, and names the package", () => {
    const file = join(directory, "skipping.test.ts");
    const needing = (name: string): string => `it("${name}", { skip: skipWithout("pebble", "tmux") }, () => {});\n`;
    const programs = join(process.cwd(), "test/support/programs.ts");
    const imports = `import { it } from "node:test";\nimport { skipWithout } from ${JSON.stringify(programs)};\n`;
    writeFileSync(file, `${imports}${needing("one")}${needing("other")}`);
    const { NODE_TEST_CONTEXT: _, CI: __, ...env } = process.env;
    const run = (given: Readonly<Record<string, string>>) =>
      spawnSync(process.execPath, ["bin/here.js", "scripts/test.ts", file], {
        encoding: "utf8",
        env: { ...env, PATH: directory, POSTERN_TEST_PATH_ONLY: "1", ...given },
      });
    const local = run({});
    assert.equal(local.status, 0, local.stdout);
    assert.match(local.stdout, /^skipped: 2 tests or suites, needs pebble and tmux \(apt-get install pebble tmux\)$/m);
    const { status, stderr } = run({ CI: "true" });
    assert.equal(status, 1, "a missing program fails in CI");
    assert.match(stderr, /Error: a test needs \w+ \(apt-get install \w+\)/);
  });

  it("npm test reports the cost of files and changes on request", () => {
    const files = ["test/citations.test.ts", "src/lib/address.test.ts"];
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const args = ["bin/here.js", "scripts/test.ts", "--costs", ...files];
    const { stdout, status } = spawnSync(process.execPath, args, { encoding: "utf8", env });
    assert.equal(status, 0, stdout);
    const [, costs = "", lanes = ""] = stdout.split(
      /^(?:test files|lanes of changes), in seconds of processor time:$/m,
    );
    assert.match(costs + lanes, process.platform === "linux" ? /^ +\d+\.\d {2}src\/lib\/address\.ts$/m : /^/);
  });

  it("a file of the queue is run once, by whichever process", () => {
    const place = mkdtempSync(join(directory, "queue-"));
    const [one, other] = [makeQueue(place, ["a", "b", "c"]), openQueue(place)];
    assert.deepEqual(
      [one.take(), other.take(), one.take(), other.take(), one.take()],
      ["a", "b", "c", undefined, undefined],
    );
    other.done("b");
    assert.deepEqual(one.unfinished(), ["a", "c"]);
  });
});
