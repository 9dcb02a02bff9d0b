/** Calls of a gRPC client reach a gRPC service through the edge and an agent. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { createInterface } from "node:readline";
import { root } from "../support/command.ts";
import { startPlatform } from "../support/platform.ts";
import type { TestPlatform } from "../support/platform.ts";
import { findProgram, skipWithout } from "../support/programs.ts";
import { runPython } from "../support/python.ts";

const python = findProgram("python3-grpcio") ?? "";

async function startService(): Promise<{ readonly process: ChildProcess; readonly port: number }> {
  const process = spawn(python, [`${root}test/clients/grpc_service.py`], { stdio: ["pipe", "pipe", "inherit"] });
  for await (const line of createInterface({ input: process.stdout })) return { process, port: Number(line) };
  throw new Error("the gRPC service did not start");
}

describe("gRPC", { skip: skipWithout("python3-grpcio"), timeout: 240_000 }, () => {
  let platform: TestPlatform;
  let service: ChildProcess;
  let seen: ReadonlyMap<string, unknown>;
  before(async () => {
    const started = await startService();
    service = started.process;
    platform = await startPlatform({ drainMs: 100 });
    const agent = await platform.startAgent({ upstream: `h2c://127.0.0.1:${started.port}` });
    const { host, hostname } = new URL(agent.url);
    seen = await runPython({
      python,
      script: `${root}test/clients/grpc_client.py`,
      given: { port: platform.httpsPort, host: hostname, authority: host, ca: join(platform.directory, "ca.pem") },
      restart: async () => {
        await platform.restart();
        await agent.online(2);
      },
    });
  });
  after(async () => {
    service.stdin?.end();
    await platform.stop();
  });
  const found = (name: string, expected: unknown): void => assert.deepEqual(seen.get(name), expected);

  it("gRPC: unary calls carry messages, empty ones, and metadata in both directions", () => {
    found("unary", "hello");
    found("empty message", "");
    const binary = [0, 1, 255];
    found("metadata", {
      leading: { "x-text": "a, b", "x-data-bin": binary },
      trailing: { "x-last": "1", "x-last-bin": binary },
    });
  });

  it("gRPC: streams forward each message when it is sent, in each direction and in both", () => {
    found("server streaming", ["0", "1", "2"]);
    found("no messages", []);
    found("client streaming", "500000");
    found("bidi", ["got 0", "got 1", "got 2", "got 3", "got 4"]);
  });

  it("gRPC: an error reaches the client with its status, text and details", () => {
    found("error status", ["FAILED_PRECONDITION", "no, 100 % naïve", [8, 9, 200]]);
    found("unknown method", ["UNIMPLEMENTED", "Method not found!"]);
  });

  it("gRPC: a deadline and a cancellation reach the service", () => {
    found("deadline", ["DEADLINE_EXCEEDED", "over"]);
    found("cancellation", ["first", "CANCELLED", "over"]);
  });

  it("gRPC: large, many and compressed messages arrive complete", () => {
    found("large messages", [3 * 1024 * 1024, true]);
    found("flow control", 10_000_000);
    found("compression", true);
    found("many calls", 100);
  });

  it("gRPC: a channel continues after the server has restarted", () => {
    const [ends, again] = seen.get("restarted") as readonly [readonly string[], string];
    assert.equal(ends[0], "UNAVAILABLE");
    assert.equal(again, "again");
  });
});
