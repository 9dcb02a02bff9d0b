/** A part of `npm run test:nodes` in every run: suites for one server, run on two nodes that share a database. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, it } from "node:test";
import { skipWithoutPostgres } from "./support/programs.ts";

const suites = [
  ...["lists", "reach", "traffic"].map((name) => `test/api/${name}.test.ts`),
  ...["forwarded-source", "held-bodies", "trailers", "upgrades", "wildcard-names"].map(
    (name) => `test/traffic/${name}.test.ts`,
  ),
];

describe("two nodes", { skip: skipWithoutPostgres }, () => {
  it("two nodes answer like one server, whichever of them each call and each visitor reaches", async () => {
    // Data in SQLite belongs to one server.
    const options = ["--test", "--test-isolation=none", "--test-reporter=spec", "--test-skip-pattern=sqlite"];
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const overNodes = { ...env, POSTERN_TEST_NODES: "2" };
    const child = spawn(process.execPath, [...options, ...suites], {
      env: overNodes,
      stdio: ["ignore", "pipe", "inherit"],
    });
    let said = "";
    child.stdout.on("data", (chunk: Buffer) => (said += chunk.toString()));
    const [code] = await once(child, "close");
    assert.equal(code, 0, said.slice(said.indexOf("failing tests:")));
    assert.ok(Number(/^\S* tests (\d+)$/m.exec(said)?.[1]) > 40, said.slice(-500));
  });
});
