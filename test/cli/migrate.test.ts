/** `postern migrate`, and the guide's migration from one server on SQLite to three on PostgreSQL. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";
import { tablesOf } from "../../src/storage/inbox/inbox-tables.ts";
import { startBalancer } from "../support/balancer.ts";
import { freePorts, root, runCommand, startCommand } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { askOver } from "../support/http-client.ts";
import { startServer } from "../support/nodes.ts";
import type { ServerNode } from "../support/nodes.ts";
import { databases } from "../support/postgres.ts";
import { skipWithout, skipWithoutPostgres } from "../support/programs.ts";
import { startHttpService } from "../support/services.ts";

const postgres = databases.find(({ name }) => name === "postgres");

/** Returns the samples of one section of the guide. */
function samplesOf(section: string): readonly string[] {
  const guide = readFileSync(`${root}docs/guides/several-nodes.md`, "utf8");
  const [text = ""] = guide.split(/^## /m).filter((one) => one.startsWith(`${section}\n`));
  return [...text.matchAll(/^```sh\n([^]*?)^```$/gm)].map(([, sample = ""]) => sample.trim());
}

/** Creates a directory in which `postern` is our command, and `ssh` runs in the data directory of that host. */
function toolsIn(directory: string, data: string): string {
  const bin = join(directory, "bin");
  mkdirSync(bin);
  const tools = {
    postern: `exec '${process.execPath}' '${root}bin/postern.js' "$@"`,
    ssh: `host=$1; shift; mkdir -m 700 "${data}.$host"; exec $(echo "$@" | sed "s#${data}#${data}.$host#")`,
  };
  for (const [name, text] of Object.entries(tools)) {
    writeFileSync(join(bin, name), `#!/bin/sh\n${text}\n`);
    chmodSync(join(bin, name), 0o755);
  }
  return bin;
}

/** Returns objects of several kinds, without the server's address and the time of the last use of keys. */
async function listed(server: ServerNode): Promise<unknown> {
  const paths = ["/accounts", "/api_keys", "/credentials", "/ip_policies", "/edges/https", "/reserved_addrs"];
  const replies = await Promise.all(paths.map((path) => server.call("GET", path)));
  for (const { status, text } of replies) assert.equal(status, 200, text);
  return replies.map(({ text }) => text.replaceAll(server.apiUrl, "").replaceAll(/"last_used_at":"[^"]*"/g, ""));
}

describe("postern migrate", { timeout: 120_000 }, () => {
  it("postern migrate reports what it moved, as text and as JSON, and reports errors in one sentence", async () => {
    const directory = mkdtempSync(join(tmpdir(), "postern-migrate-"));
    const env = { HOME: directory };
    const none = await runCommand(["migrate", "postern.db", "other.db", "--data", directory], { env });
    assert.equal(none.code, 2);
    assert.match(none.stderr, /^postern: move database: there is no file ".*postern.db"\n$/);
    const server = await startServer(["--data", directory], undefined, freePorts);
    const used = await runCommand(["migrate", "postern.db", "other.db", "--data", directory], { env });
    assert.equal(used.code, 2);
    assert.match(used.stderr, /^postern: open database: another process has it open .*\n$/);
    await server.end();
    const moved = await runCommand(["migrate", "postern.db", "other.db", "--data", directory, "--json"], { env });
    assert.equal(moved.code, 0, moved.stderr);
    const report = JSON.parse(moved.stdout) as { readonly revision: number; readonly history_broken_at: null };
    assert.ok(report.revision > 0);
    assert.equal(report.history_broken_at, null);
    assert.equal(moved.stderr, "");
    const inboxes = new DatabaseSync(join(directory, "postern-inbox.db"));
    for (const text of tablesOf("sqlite")) inboxes.exec(text);
    const insert = inboxes.prepare(`insert into inbox_messages (id, state, account_id, route_id, received_ms, due_ms,
      provider, event_type, method, path, source, request_id, bytes) values (?, ?, '', '', 0, 0, '', '', '', '', '', '', 0)`);
    for (const state of ["delivered", "waiting", "blocked", "dead"]) insert.run(`inbox_${state}`, state);
    inboxes.close();
    const warned = await runCommand(["migrate", "postern.db", "fourth.db", "--data", directory], { env });
    assert.equal(warned.code, 0, warned.stderr);
    assert.match(
      warned.stderr,
      /^postern: ".*postern-inbox\.db" has undelivered webhooks \(2\), which were not moved: /,
    );
    const back = await runCommand(["migrate", "other.db", "third.db", "--data", directory], { env });
    assert.match(back.stdout, new RegExp(`^Moved everything up to revision ${report.revision}\\.\n`));
    assert.match(back.stdout, /Every row was read back unchanged, and the history is intact/);
    rmSync(directory, { recursive: true });
  });

  const skip = skipWithoutPostgres || skipWithout("haproxy", "curl");
  it(
    "S6: a server on SQLite becomes three on PostgreSQL as in the guide: ids, keys, agents and URLs stay",
    { skip },
    async (test) => {
      assert.ok(postgres);
      const directory = mkdtempSync(join(tmpdir(), "postern-migrate-"));
      const data = join(directory, "data");
      const place = await postgres.create();
      const service = await startHttpService((_request, response) => response.end("behind the agent"));
      test.after(() => service.stop());
      const hosts = ["127.0.0.2", "127.0.0.3", "127.0.0.4"];
      const balancer = await startBalancer(hosts);
      const lone = await startServer(["--data", data], undefined, balancer.env("127.0.0.2"));
      const apiKey = readFileSync(join(data, "api-key"), "utf8").trim();
      const ca = readFileSync(join(data, "ca.pem"), "utf8");
      for (const path of ["/ip_policies", "/edges/https"]) {
        const made = await lone.call("POST", path, { description: "made before" }, { "idempotency-key": path });
        assert.equal(made.status, 201, made.text);
      }
      // The balancer marked the server as down during its start. It gets no traffic until the next health check.
      const asked = (): Promise<number> =>
        fetch(`http://127.0.0.1:${balancer.ports.api}/readyz`).then(
          ({ status }) => status,
          () => 0,
        );
      assert.equal(await eventually(asked, (status) => status === 200), 200);
      const agent = startCommand(
        ["http", String(service.port), "--server", `localhost:${balancer.ports.agents}`, "--json"],
        {
          env: {
            HOME: directory,
            POSTERN_CA: join(data, "ca.pem"),
            POSTERN_AUTHTOKEN: readFileSync(join(data, "authtoken"), "utf8").trim(),
          },
        },
      );
      test.after(() => agent.end("SIGKILL"));
      const { url } = JSON.parse(await agent.firstLine()) as { readonly url: string };
      const host = new URL(url).hostname;
      const visit = (): Promise<string> =>
        askOver("h1", balancer.ports.https, ca, { host, path: "/" }).then(({ text }) => text, String);
      assert.equal(await visit(), "behind the agent");
      const before = await listed(lone);
      await lone.end();

      const bin = toolsIn(directory, data);
      const [move = "", copy = "", start = ""] = samplesOf("From one server on SQLite to three");
      const env = { PATH: `${bin}:${process.env["PATH"]}`, HOME: directory, DATA: data, DATABASE: place.url };
      for (const sample of [move, copy]) {
        const shell = spawn("sh", ["-euc", sample], { env, stdio: ["ignore", "ignore", "inherit"] });
        const [code] = await once(shell, "exit");
        assert.equal(code, 0, sample);
      }
      const nodes = await Promise.all(
        hosts.map((address, at) => {
          const words = start.replaceAll('"', "").split(" ").slice(2);
          const values = { $DATABASE: place.url, $DATA: at === 0 ? data : `${data}.node-${at + 1}` };
          const args = words.map((word) => values[word as keyof typeof values] ?? word);
          return startServer(args, apiKey, balancer.env(address));
        }),
      );
      for (const node of nodes) {
        await node.until("/nodes", ({ body }) => (body["nodes"] as readonly unknown[]).length === 3);
        assert.deepEqual(await listed(node), before);
      }
      const sameKey = { "idempotency-key": "/ip_policies" };
      const [, second, third] = nodes as unknown as readonly [ServerNode, ServerNode, ServerNode];
      const repeated = await third.call("POST", "/ip_policies", { description: "made before" }, sameKey);
      assert.equal(repeated.status, 201, repeated.text);
      assert.deepEqual(await listed(second), before);

      // The agent reconnects automatically, and every server serves its URL.
      assert.equal(await eventually(visit, (text) => text === "behind the agent"), "behind the agent");
      for (let count = 0; count < 6; count += 1) assert.equal(await visit(), "behind the agent");
      await Promise.all(nodes.map((node) => node.end()));
      await balancer.stop();
      await place.drop();
      rmSync(directory, { recursive: true });
    },
  );
});
