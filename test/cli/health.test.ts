import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { freePorts, runCommand } from "../support/command.ts";
import { freePort } from "../support/connections.ts";
import { startServer } from "../support/nodes.ts";

describe("postern health", { timeout: 60_000 }, () => {
  const data = mkdtempSync(join(tmpdir(), "postern-health-"));
  after(() => rmSync(data, { recursive: true }));

  it("exits with 0 while the server is ready and with 1 while it drains", async () => {
    const api = `127.0.0.1:${await freePort()}`;
    const env = { ...freePorts, POSTERN_API_LISTEN: api, POSTERN_DRAIN_DELAY: "60" };
    const server = await startServer(["--data", data], undefined, env);
    const ask = (...args: string[]) => runCommand(["health", ...args], { env: { POSTERN_API_LISTEN: api } });
    const ready = await ask();
    assert.deepEqual([ready.code, ready.stdout], [0, "ready\n"], ready.stderr);

    process.kill(server.pid, "SIGTERM");
    await server.until("/readyz", ({ status }) => status === 503);
    const draining = await ask("--json");
    assert.deepEqual(
      [draining.code, JSON.parse(draining.stdout)],
      [1, { ready: false, reason: "the server is stopping" }],
    );
    await server.end("SIGKILL");
  });

  it("exits with 4 and names the address if no server answers", async () => {
    const port = await freePort();
    for (const [listen, address] of [
      [`:${port}`, `127.0.0.1:${port}`],
      [`[::]:${port}`, `[::1]:${port}`],
    ] as const) {
      const { code, stderr } = await runCommand(["health", "--api-listen", listen]);
      assert.equal(code, 4);
      assert.ok(stderr.includes(`no server answers at ${address}`), stderr);
    }
  });
});
