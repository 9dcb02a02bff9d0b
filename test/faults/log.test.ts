/** A server whose log output is blocked. */
import assert from "node:assert/strict";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { Agent, request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { freePorts, startCommand } from "../support/command.ts";
import type { Running } from "../support/command.ts";

/** Each request logs a line with its path. Together they are more than a pipe holds. */
const requests = 150;
const pathBytes = 5000;

interface Facts {
  readonly https_port: number;
  readonly ca_file: string;
}

const directory = mkdtempSync(join(tmpdir(), "postern-log-"));
after(() => rmSync(directory, { recursive: true }));

/** Starts a server that logs everything to `stderr`. Default: a pipe. */
async function start(name: string, stderr: "pipe" | number = "pipe"): Promise<{ server: Running; facts: Facts }> {
  const args = ["serve", "--json", "--log-level", "debug", "--data", join(directory, name)];
  const server = startCommand(args, { env: freePorts, stdio: ["ignore", "pipe", stderr] });
  return { server, facts: JSON.parse(await server.firstLine()) as Facts };
}

/** Sends requests that each log a line, on one connection, and waits for every response. */
async function visitOften({ https_port: port, ca_file: ca }: Facts): Promise<void> {
  const host = "nobody.localhost";
  const agent = new Agent({ keepAlive: true, maxSockets: 1, ca: readFileSync(ca) });
  const path = `/${"a".repeat(pathBytes)}`;
  for (let count = 0; count < requests; count += 1) {
    const asked = request({ agent, host: "127.0.0.1", port, servername: host, path, headers: { host } });
    asked.end();
    const [response] = (await once(asked, "response")) as [IncomingMessage];
    assert.equal(response.statusCode, 404);
    response.resume();
    await once(response, "end");
  }
  agent.destroy();
}

describe("a server whose log", () => {
  it("D10: a server whose log is on a full disk continues to serve, and stops normally", async () => {
    const full = openSync("/dev/full", "w");
    const { server, facts } = await start("full", full);
    closeSync(full);
    await visitOften(facts);
    assert.equal((await server.end()).code, 0);
  });

  it("D10: a server whose log has lost its reader continues to serve, and stops normally", async () => {
    const { server, facts } = await start("closed");
    server.process.stderr?.destroy();
    await visitOften(facts);
    assert.equal((await server.end()).code, 0);
  });

  it("D10: a server whose log is read too slowly continues to serve, and stops normally", async () => {
    const { server, facts } = await start("slow");
    server.process.stderr?.pause();
    await visitOften(facts);
    server.process.kill("SIGTERM");
    const [code] = (await once(server.process, "exit")) as [number | null];
    assert.equal(code, 0);
    server.process.stderr?.destroy();
  });
});
