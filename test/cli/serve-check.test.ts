/** `postern serve --check` reports what a start would do, and changes nothing. */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, describe, it } from "node:test";
import { freePorts, runCommand, startCommand } from "../support/command.ts";

describe("postern serve --check", () => {
  const data = mkdtempSync(join(tmpdir(), "postern-check-"));
  const file = join(data, "postern.db");
  after(() => rmSync(data, { recursive: true }));
  const check = () => runCommand(["serve", "--check", "--json", "--data", data], { env: freePorts });
  const change = (text: string): unknown => JSON.parse(text);

  it("exits with 0 and creates nothing if there is no database", async () => {
    const { code, stdout } = await check();
    assert.deepEqual([code, change(stdout)], [0, { version: "0.1.0", change: "create", pending: [] }]);
    assert(!existsSync(file));
  });

  it("exits with 0 when the database is up to date", async () => {
    const server = startCommand(["serve", "--json", "--data", data], { env: freePorts });
    await server.firstLine();
    await server.end("SIGTERM");
    const { code, stdout } = await check();
    assert.deepEqual([code, change(stdout)], [0, { version: "0.1.0", change: "none", pending: [] }]);
  });

  it("exits with 8 and names the steps if the start would migrate, and runs none of them", async () => {
    edit("delete from migrations where name = '0010-packed'");
    for (let time = 0; time < 2; time += 1) {
      const { code, stdout } = await check();
      const backup = `${file}.before-0010-packed`;
      const wanted = { version: "0.1.0", change: "migrate", pending: ["0010-packed"], backup };
      assert.deepEqual([code, change(stdout)], [8, wanted]);
      assert.ok(!existsSync(backup));
    }
    edit("insert into migrations (name, at) values ('0010-packed', '2026-01-01T00:00:00Z')");
  });

  it("a start that migrates logs the path of its backup, and the check afterwards exits with 0", async () => {
    edit("delete from migrations where name = '0010-packed'");
    const server = startCommand(["serve", "--json", "--data", data, "--log-format", "json"], { env: freePorts });
    await server.firstLine();
    const { stderr } = await server.end("SIGTERM");
    assert.match(stderr, /took a backup before the database is migrated.*postern\.db\.before-0010-packed/);
    assert.ok(existsSync(`${file}.before-0010-packed`));
    assert.equal((await check()).code, 0);
  });

  it("exits with 2 if a newer version wrote the database", async () => {
    edit("insert into migrations values ('9999-later', '2026-01-01T00:00:00Z', '0.9.0', '/backups/before')");
    const { code, stderr } = await check();
    assert.equal(code, 2);
    assert.match(stderr, /newer version of Postern \(version 0\.9\.0, .*this is version 0\.1\.0.*\/backups\/before/);
  });

  function edit(statement: string): void {
    const database = new DatabaseSync(file);
    database.exec(statement);
    database.close();
  }
});
