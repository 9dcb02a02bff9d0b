/** Features of PostgreSQL: several servers of which one accepts writes, passwords that change, TLS, and poolers. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { chmodSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import { describe, it } from "node:test";
import { startPostgres, startStandby } from "../support/postgres.ts";
import { findProgram, skipWithout, skipWithoutPostgres } from "../support/programs.ts";
import { create, defaultAccount } from "./declarations.ts";
import { inDirectory, keepingLog, open } from "./fixture.ts";
import { execute } from "./sql.ts";

/** Returns a port that is currently free. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

describe("a server on PostgreSQL", { skip: skipWithoutPostgres }, () => {
  for (const cluster of [false, true]) {
    const who = cluster ? "a node" : "a lone server";

    it(`S4: ${who} whose URL names several servers finds the one that accepts writes, and its standby after that was promoted`, async () => {
      const primary = await startPostgres({ port: await freePort() });
      if (!primary) return;
      const standby = await startStandby(primary, await freePort());
      const url = `postgres://postgres@127.0.0.1:${standby.port},127.0.0.1:${primary.port}/postgres?target_session_attrs=read-write`;
      const { log } = keepingLog();
      const store = await open(url, { cluster, log });
      const account = defaultAccount(store);
      await create(store, account, "user", { name: "before" });
      await standby.hasAll();
      await primary.crash();
      await assert.rejects(create(store, account, "user", { name: "between" }));
      await standby.promote();
      let after: unknown;
      while (!after) after = await create(store, account, "user", { name: "after" }).catch(() => undefined);
      assert.deepEqual(
        store.page(account, "user", { limit: 10 }).objects.map(({ doc }) => doc["name"]),
        ["after", "before"],
      );
      assert.deepEqual(await store.history.verify(), { revisions: store.revision });
      await store.close();
      await standby.remove();
      await primary.remove();
    });

    it(`${who} rereads the password from the passfile for every connection`, async () => {
      const server = await startPostgres({ port: await freePort(), auth: "scram-sha-256" });
      if (!server) return;
      await inDirectory(async (directory) => {
        const passfile = join(directory, "pgpass");
        const keep = async (password: string): Promise<void> => {
          await execute("postgres", server.url, `alter role postern password '${password}'`);
          writeFileSync(
            passfile,
            `# passwords\nother:*:*:postern:wrong\n*:${server.port}:*:postern:${password.replaceAll(/[\\:]/g, "\\$&")}\n`,
          );
        };
        await execute("postgres", server.url, "create role postern login superuser");
        await keep("first:one\\");
        const url = `postgres://postern@127.0.0.1:${server.port}/postgres?passfile=${encodeURIComponent(passfile)}`;
        const store = await open(url, { cluster });
        const account = defaultAccount(store);
        await keep("second@/#");
        await execute(
          "postgres",
          server.url,
          "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'postern'",
        );
        let made: unknown;
        while (!made) made = await create(store, account, "user", { name: "with the second" }).catch(() => undefined);
        await store.history.verify();
        await store.close();
      });
      await server.remove();
    });

    for (const mode of ["session", "transaction"] as const) {
      const outcome = mode === "session" ? "works" : "does not start and prints one sentence";
      it(`${who} behind a pooler in ${mode} mode ${outcome}`, { skip: skipWithout("pgbouncer") }, async () => {
        const server = await startPostgres({ port: await freePort() });
        if (!server) return;
        await inDirectory(async (directory) => {
          const pooler = await startPooler(directory, server.port, mode);
          const url = `postgres://postgres@127.0.0.1:${pooler.port}/postgres`;
          if (mode === "session") {
            const store = await open(url, { cluster });
            await create(store, defaultAccount(store), "user", { name: "pooled" });
            await store.close();
          } else {
            await assert.rejects(open(url, { cluster }), /^Error: open database: .*pooler.*session mode/);
          }
          await pooler.stop();
        });
        await server.remove();
      });
    }
  }

  it("a server on PostgreSQL verifies the certificate of the database if its URL requires it", async () => {
    const server = await startPostgres({ port: await freePort(), tls: true });
    if (!server) return;
    const urlWith = (host: string, query: string): string =>
      `postgres://postgres@${host}:${server.port}/postgres?${query}`;
    const verified = `sslmode=verify-full&sslrootcert=${encodeURIComponent(server.caFile)}`;
    const store = await open(urlWith("localhost", verified));
    const [{ ssl } = {}] = await execute(
      "postgres",
      server.url,
      "select bool_and(ssl) as ssl from pg_stat_ssl join pg_stat_activity using (pid) where application_name like 'postern%'",
    );
    assert.equal(ssl, true);
    await store.close();
    await assert.rejects(open(urlWith("127.0.0.1", verified)), /connect to database: .*altnames/i);
    await assert.rejects(
      open(urlWith("localhost", "sslmode=verify-full")),
      /connect to database: .*(self-signed|unable to)/i,
    );
    await server.remove();
  });
});

/** Starts PgBouncer in front of a server. */
async function startPooler(
  directory: string,
  target: number,
  mode: "session" | "transaction",
): Promise<{ readonly port: number; stop(): Promise<void> }> {
  const port = await freePort();
  const config = join(directory, "pgbouncer.ini");
  const users = join(directory, "users.txt");
  writeFileSync(users, '"postgres" ""\n');
  writeFileSync(
    config,
    `[databases]\npostgres = host=127.0.0.1 port=${target}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = ${port}\nunix_socket_dir =\nauth_type = trust\nauth_file = ${users}\npool_mode = ${mode}\n`,
  );
  chmodSync(directory, 0o755);
  const args = process.getuid?.() === 0 ? ["-u", "postgres", config] : [config];
  const child = spawn(findProgram("pgbouncer") as string, args, {
    stdio: ["ignore", "ignore", "pipe"],
  });
  const ended = once(child, "close");
  child.stderr.setEncoding("utf8");
  for await (const text of child.stderr as AsyncIterable<string>) if (text.includes("process up")) break;
  child.stderr.resume();
  return {
    port,
    async stop() {
      child.kill("SIGTERM");
      await ended;
    },
  };
}
