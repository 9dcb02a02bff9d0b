/** The selection of tests by `npm test -- --changed`. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, globSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { allTests, alone, changedSince, rooms, testsFor } from "../scripts/changed-tests.ts";

describe("the selection of tests", () => {
  it("the selection of tests knows every room of src, and its table names only existing files", () => {
    const folders = readdirSync("src", { withFileTypes: true }).filter((entry) => entry.isDirectory());
    assert.deepEqual(
      folders.map(({ name }) => `src/${name}`).filter((room) => !(room in rooms)),
      [],
    );
    for (const [room, globs] of Object.entries(rooms)) {
      assert.ok(existsSync(room), room);
      for (const glob of globs) assert.ok(globSync(glob).length > 0, glob);
    }
  });

  it("the whole suite has every test file once, the longest first", () => {
    assert.deepEqual(allTests().sort(), globSync(["src/**/*.test.ts", "test/**/*.test.ts"]).sort());
    for (const glob of alone) assert.ok(globSync(glob).length > 0, glob);
  });

  it("the selection of tests contains the tests that reach a changed file from beside it, from its room and by its name", () => {
    const tests = testsFor(["src/http1/read-request.ts"]);
    assert.ok(tests.includes("src/http1/read-request.test.ts"));
    assert.ok(tests.includes("test/traffic/http1-framing.test.ts"));
    assert.ok(!tests.includes("src/http1/field-table.test.ts"), "does not import it");
    assert.ok(!tests.some((test) => test.startsWith("test/storage/")));
    assert.ok(testsFor(["src/api/documents/document-plan.ts"]).includes("test/api/documents.test.ts"));
    assert.ok(testsFor(["src/cli/api/print-answer.ts"]).includes("test/cli/api.test.ts"));
    assert.ok(!testsFor(["src/api/nodes/open-nodes.ts"]).includes("test/cli/nodes.test.ts"), "of the room cli");
    assert.ok(!testsFor(["src/storage/store.ts"]).includes("test/storage/faults.test.ts"), "only types of it");
    assert.ok(!testsFor(["src/api/keys/first-tokens.ts"]).includes("test/cli/api.test.ts"), "of the room's name only");
    const ofBreaker = testsFor(["src/modules/circuit-breaker.ts"]);
    assert.ok(ofBreaker.includes("test/traffic/modules-breaker.test.ts"));
    assert.ok(!ofBreaker.includes("test/traffic/modules-compression.test.ts"));
  });

  it("the selection of tests contains a changed test, and tests that import a changed fixture directly or indirectly", () => {
    assert.ok(testsFor(["test/storage/rules.test.ts"]).includes("test/storage/rules.test.ts"));
    const tests = testsFor(["test/support/http-client.ts"]);
    assert.ok(tests.includes("test/traffic/bind-fields.test.ts"), "by edge.ts");
    assert.ok(!tests.includes("test/storage/rules.test.ts"));
  });

  it("the selection of tests always contains the rules of the house, and never much of the suite for one file", () => {
    const all = allTests();
    for (const file of globSync("src/*/*.ts").filter((one) => !one.endsWith(".test.ts"))) {
      const tests = testsFor([file], all);
      assert.ok(tests.includes("test/house.test.ts"));
      assert.ok(tests.length < all.length / 4, `${file}: ${tests.length} of ${all.length}`);
    }
  });

  it("the selection of tests covers files committed since the base, changed since, and not yet tracked by git", () => {
    const directory = mkdtempSync(join(tmpdir(), "postern-changed-"));
    try {
      const git = (...args: string[]) =>
        execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.com", ...args], { cwd: directory });
      const write = (name: string, text: string) => writeFileSync(join(directory, name), text);
      git("init", "--quiet", "--initial-branch=main");
      for (const name of ["kept", "committed", "edited"]) write(name, "1");
      git("add", ".");
      git("commit", "--quiet", "--message=one");
      git("switch", "--quiet", "--create", "change");
      write("committed", "2");
      git("commit", "--quiet", "--all", "--message=two");
      write("edited", "2");
      write("new", "1");
      assert.deepEqual(changedSince(undefined, directory), ["committed", "edited", "new"]);
      assert.deepEqual(changedSince("HEAD", directory), ["edited", "new"]);
      assert.throws(() => changedSince("no-such-revision", directory), /git merge-base HEAD no-such-revision/);
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });
});
