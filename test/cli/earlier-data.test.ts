/** Starts this version with the data of an early version, and restores the backup. */
import assert from "node:assert/strict";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { gunzipSync } from "node:zlib";
import { migrations } from "../../src/storage/opening/migrations.ts";
import { freePorts, runCommand } from "../support/command.ts";
import earlier from "../support/earlier-data.json" with { type: "json" };
import { startServer } from "../support/nodes.ts";

describe("the data of an early version", { timeout: 60_000 }, () => {
  const data = mkdtempSync(join(tmpdir(), "postern-earlier-"));
  const file = join(data, "postern.db");
  const backup = `${file}.before-0004-sealed-values`;
  before(() => {
    writeFileSync(file, gunzipSync(Buffer.from(earlier.database, "base64")), { mode: 0o600 });
    writeFileSync(join(data, "sealing-key"), `${earlier.sealing_key}\n`, { mode: 0o600 });
    writeFileSync(join(data, "api-key"), `${earlier.api_key}\n`, { mode: 0o600 });
  });
  after(() => rmSync(data, { recursive: true }));
  const check = async (): Promise<{ readonly code: number | null; readonly found: unknown }> => {
    const { code, stdout } = await runCommand(["serve", "--check", "--json", "--data", data], { env: freePorts });
    return { code, found: JSON.parse(stdout) };
  };
  const wanted = {
    code: 8,
    found: { version: "0.1.0", change: "migrate", pending: migrations.slice(3).map(({ name }) => name), backup },
  };

  it("S6: data of an early version are reported by the check, then backed up and migrated whole by the start", async () => {
    assert.deepEqual(await check(), wanted);
    const server = await startServer(["--data", data], earlier.api_key, freePorts);
    const { body: domains } = await server.call("GET", "/reserved_domains");
    const { body: edges } = await server.call("GET", "/edges/https");
    const [domain] = domains["reserved_domains"] as readonly Record<string, unknown>[];
    const [edge] = edges["https_edges"] as readonly Record<string, unknown>[];
    assert.equal(domain?.["domain"], "kept.example.com");
    assert.deepEqual([edge?.["metadata"], edge?.["hostports"]], ["from 0003", ["kept.example.com:443"]]);
    const [{ id }] = (edge as { readonly routes: readonly [{ readonly id: string }] }).routes;
    const { body: route } = await server.call("GET", `/edges/https/${String(edge?.["id"])}/routes/${id}`);
    assert.match(JSON.stringify(route), /"x-secret":"kept-secret"/);
    const { code, stderr } = await server.end("SIGTERM");
    assert.equal(code, 0, stderr);
    assert.match(stderr, /took a backup before the database is migrated/);
    // This version seals the header's value. The backup has the earlier format, in plain text.
    assert.ok(!readFileSync(file).includes("kept-secret"));
    assert.ok(readFileSync(backup).includes("kept-secret"));
    assert.equal((await check()).code, 0);
  });

  it("data of an early version are unchanged after the backup is restored", async () => {
    copyFileSync(backup, file);
    for (const end of ["-wal", "-shm"]) rmSync(`${file}${end}`, { force: true });
    assert.deepEqual(await check(), wanted);
  });
});
