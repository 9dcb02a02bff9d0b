/** A failed start leaves nothing behind, so that the next one can succeed. */
import assert from "node:assert/strict";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { freePorts, runCommand, startCommand } from "../support/command.ts";
import { databases } from "../support/postgres.ts";

const root = mkdtempSync(join(tmpdir(), "postern-refused-"));
after(() => rmSync(root, { recursive: true }));

/** Returns the contents of a directory, without the files of the database. */
function filesOf(directory: string): Record<string, string> {
  const names = readdirSync(directory).filter((name) => !name.startsWith("postern.db"));
  return Object.fromEntries(names.sort().map((name) => [name, readFileSync(join(directory, name), "utf8")]));
}

for (const database of databases) {
  describe(`a start without its files, on ${database.name}`, () => {
    const whole = join(root, `${database.name}-whole`);
    let stored: Awaited<ReturnType<typeof database.create>>;
    let env: Record<string, string>;
    before(async () => {
      stored = await database.create();
      env = { ...freePorts, ...(database.name === "postgres" && { POSTERN_DATABASE: stored.url }) };
      const server = startCommand(["serve", "--data", whole, "--json"], { env });
      await server.firstLine();
      await server.end();
    });
    after(() => stored.drop());

    const copy = (name: string, without: readonly string[]): string => {
      const directory = join(root, `${database.name}-${name}`);
      cpSync(whole, directory, { recursive: true });
      for (const file of without) rmSync(join(directory, file), { force: true });
      return directory;
    };
    const sealed = /its secrets are sealed under the key "[0-9a-f]{12}".*restore the file "sealing-key"/;

    for (const [name, without] of [
      ["no sealing key", ["sealing-key"]],
      ["the database alone", ["sealing-key", "ca.key", "ca.pem", "tunnel.key", "api-key", "authtoken"]],
    ] as const) {
      it(`K4: a start without its files, on ${database.name}, with ${name} names the missing file, explains how to restore it, and creates none`, async () => {
        const directory = copy(name, without);
        const there = filesOf(directory);
        const ended = await runCommand(["serve", "--data", directory], { env });
        assert.equal(ended.code, 2, ended.stderr);
        assert.match(ended.stderr, sealed);
        assert.match(ended.stderr, /but there is no sealing key/);
        assert.deepEqual(filesOf(directory), there);
        writeFileSync(join(directory, "sealing-key"), readFileSync(join(whole, "sealing-key")), { mode: 0o600 });
        const server = startCommand(["serve", "--data", directory, "--json"], { env });
        await server.firstLine();
        await server.end();
      });
    }

    for (const without of [[], ["ca.key", "ca.pem", "tunnel.key", "api-key", "authtoken"]]) {
      it(`K4: a start without its files, on ${database.name}, with another sealing key and ${without.length} files missing changes and creates nothing`, async () => {
        const directory = copy(`another key ${without.length}`, without);
        const other = Buffer.alloc(32, 9).toString("base64");
        writeFileSync(join(directory, "sealing-key"), `${other}\n`, { mode: 0o600 });
        const there = filesOf(directory);
        for (const given of [{}, { POSTERN_SEALING_KEY: other }]) {
          const ended = await runCommand(["serve", "--data", directory], { env: { ...env, ...given } });
          assert.equal(ended.code, 2, ended.stderr);
          assert.match(ended.stderr, sealed);
          assert.doesNotMatch(ended.stderr, /given/);
          assert.deepEqual(filesOf(directory), there);
        }
      });
    }

    it(`a start without its files, on ${database.name}, while another server has the database creates nothing`, async () => {
      const server = startCommand(["serve", "--data", whole, "--json"], { env });
      await server.firstLine();
      const directory = database.name === "sqlite" ? whole : join(root, "second");
      mkdirSync(directory, { recursive: true });
      const kept = readFileSync(join(whole, "tunnel.key"));
      if (database.name === "sqlite") rmSync(join(whole, "tunnel.key"));
      const there = filesOf(directory);
      const ended = await runCommand(["serve", "--data", directory], { env });
      assert.equal(ended.code, 2, ended.stderr);
      assert.match(ended.stderr, /another process has it open/);
      assert.deepEqual(filesOf(directory), there);
      await server.end();
      writeFileSync(join(whole, "tunnel.key"), kept, { mode: 0o600 });
    });
  });
}

describe("a first start that fails", () => {
  for (const [name, env, says] of [
    ["a sealing key that is too short", { POSTERN_SEALING_KEY: "bm9uZQ==" }, /must hold 32 bytes/],
    ["a database that is not there", { POSTERN_DATABASE: "postgres://127.0.0.1:1/none" }, /connect to database/],
  ] as const) {
    it(`a first start that fails for ${name} leaves an empty directory`, async () => {
      const directory = join(root, name);
      const ended = await runCommand(["serve", "--data", directory], { env: { ...freePorts, ...env } });
      assert.notEqual(ended.code, 0);
      assert.match(ended.stderr, says);
      assert.deepEqual(readdirSync(directory), []);
    });
  }

  it("a first start that fails for a damaged file, or one that others may read, creates none of the other files", async () => {
    const directory = join(root, "readable");
    mkdirSync(directory);
    for (const [file, content, mode, says] of [
      ["tunnel.key", Buffer.alloc(32).toString("base64"), 0o644, /other users can read it/],
      ["tunnel.key", "short", 0o600, /is damaged/],
      ["sealing-key", "short", 0o600, /must hold 32 bytes/],
      ["authtoken", "x", 0o644, /other users can read it/],
    ] as const) {
      writeFileSync(join(directory, file), content);
      chmodSync(join(directory, file), mode);
      const ended = await runCommand(["serve", "--data", directory], { env: freePorts });
      assert.equal(ended.code, 2, ended.stderr);
      assert.match(ended.stderr, says);
      assert.deepEqual(readdirSync(directory), [file]);
      rmSync(join(directory, file));
    }
  });
});

it("a start with two listeners at one port fails, whichever listeners share it", async () => {
  for (const more of [[], ["--edges", "2"]]) {
    const ended = await runCommand(
      [
        "serve",
        "--data",
        join(root, "one port"),
        "--https-listen",
        "127.0.0.1:7001",
        "--agent-listen",
        ":7001",
        ...more,
      ],
      { env: freePorts },
    );
    assert.equal(ended.code, 2, ended.stderr);
    assert.match(
      ended.stderr,
      /the HTTPS edge and the agent listener cannot both use port 7001: choose another with --agent-listen/,
    );
  }
});
