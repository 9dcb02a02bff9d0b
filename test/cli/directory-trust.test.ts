/** Which credentials commands send to an address from a data directory. */
import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo, Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { once } from "node:events";
import { after, before, beforeEach, describe, it } from "node:test";
import { runCommand } from "../support/command.ts";
import { runSharedCommand } from "../support/shared-command.ts";

const userKey = "postern_ak_canary_of_the_user";
const userToken = "postern_at_canary_of_the_user";

/** Commands that read an address from `./.postern` of the working directory. */
const commands: readonly (readonly string[])[] = [
  ["api", "edges/https", "list"],
  ["explain", "GET", "https://app.example.com/"],
  ["plan", "document.yaml"],
  ["apply", "document.yaml"],
  ["export"],
  ["console"],
  ["account", "create", "team"],
  ["http", "3000"],
  ["tcp", "3000"],
  ["tls", "3000"],
  ["start", "--none", "--config", "agent.yml"],
  ["diagnose"],
];

describe("G12: a data directory found in the working directory", { timeout: 60_000 }, () => {
  const directory = mkdtempSync(join(tmpdir(), "postern-cloned-"));
  const data = join(directory, ".postern");
  let connections = 0;
  let stranger: Server;

  before(async () => {
    stranger = createServer((socket) => {
      connections += 1;
      socket.destroy();
    }).listen(0, "127.0.0.1");
    await once(stranger, "listening");
    writeFileSync(join(directory, "document.yaml"), "document: shop\n");
    writeFileSync(join(directory, "agent.yml"), `authtoken: ${userToken}\n`, { mode: 0o600 });
  });
  after(() => {
    stranger.close();
    rmSync(directory, { recursive: true });
  });
  beforeEach(() => {
    connections = 0;
    rmSync(data, { recursive: true, force: true });
    mkdirSync(data, { mode: 0o700 });
    const { port } = stranger.address() as AddressInfo;
    const server = {
      apiUrl: `http://127.0.0.1:${port}`,
      agentAddress: `127.0.0.1:${port}`,
      idpUrl: "https://idp.localhost",
      httpsPort: 8443,
      loginIssuers: [],
      pid: process.pid,
    };
    writeFileSync(join(data, "server.json"), JSON.stringify(server), { mode: 0o644 });
    writeFileSync(join(data, "ca.pem"), "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n", { mode: 0o644 });
  });

  const home = { HOME: directory, XDG_CONFIG_HOME: directory };
  const run = async (args: readonly string[], env: Record<string, string>) =>
    await runSharedCommand(args, { cwd: directory, env: { ...home, POSTERN_DATA: data, ...env } });

  for (const args of commands) {
    it(`a data directory does not get the user's key or token from \`postern ${args.join(" ")}\``, async () => {
      for (const hasOwn of [false, true]) {
        if (hasOwn) {
          writeFileSync(join(data, "api-key"), "postern_ak_other", { mode: 0o600 });
          writeFileSync(join(data, "authtoken"), "postern_at_other", { mode: 0o600 });
        }
        const ended = await run(args, { POSTERN_API_KEY: userKey, POSTERN_AUTHTOKEN: userToken });
        assert.equal(ended.code, 2, ended.stderr);
        assert.match(ended.stderr, /comes from ".*\.postern", so your .* from another place is not sent to it: set/);
        assert.doesNotMatch(ended.stderr + ended.stdout, /canary/);
        assert.equal(connections, 0);
      }
    });

    if (!args.includes("agent.yml")) {
      it(`a data directory that other users may change is rejected by \`postern ${args.join(" ")}\``, async () => {
        writeFileSync(join(data, "api-key"), "postern_ak_other", { mode: 0o600 });
        writeFileSync(join(data, "authtoken"), "postern_at_other", { mode: 0o600 });
        for (const [path, mode, usual] of [
          [data, 0o770, 0o700],
          [join(data, "server.json"), 0o666, 0o644],
          [join(data, "ca.pem"), 0o664, 0o644],
        ] as const) {
          chmodSync(path, mode);
          const ended = await run(args, {});
          assert.deepEqual([ended.code, connections], [2, 0]);
          assert.match(ended.stderr, /other users can change ".*" \(mode \d+\): run `chmod go-w /);
          chmodSync(path, usual);
        }
      });
    }
  }

  it("a data directory does not get the user's key or token when no option names it", async () => {
    for (const args of [["export"], ["http", "3000"]]) {
      const env = { ...home, POSTERN_API_KEY: userKey, POSTERN_AUTHTOKEN: userToken };
      const ended = await runCommand(args, { cwd: directory, env });
      assert.deepEqual([ended.code, connections], [2, 0]);
      assert.match(ended.stderr, /from another place is not sent to it/);
    }
  });

  it("a data directory does not provide its token and CA to a server that an option names", async () => {
    writeFileSync(join(data, "authtoken"), "postern_at_other", { mode: 0o600 });
    writeFileSync(join(data, "api-key"), "postern_ak_other", { mode: 0o600 });
    const { agentAddress, apiUrl } = JSON.parse(readFileSync(join(data, "server.json"), "utf8"));
    const agent = await run(["http", "3000", "--server", agentAddress], {});
    assert.match(agent.stderr, /no agent token for the server 127\.0\.0\.1/);
    const api = await run(["export", "--api-url", apiUrl], {});
    assert.match(api.stderr, /no API key for http:\/\/127\.0\.0\.1/);
    assert.deepEqual([agent.code, api.code, connections], [2, 2, 0]);
  });

  for (const [what, content] of [
    ["an address of another kind", { apiUrl: 7, agentAddress: "x", pid: 1 }],
    ["a process id that is not a number", { apiUrl: "http://127.0.0.1:1", agentAddress: "x", pid: "-1" }],
    ["a list", []],
  ] as const) {
    it(`a data directory with ${what} belongs to no server`, async () => {
      writeFileSync(join(data, "server.json"), JSON.stringify(content));
      const ended = await run(["export"], {});
      assert.deepEqual([ended.code, /no server runs on/.test(ended.stderr)], [2, true], ended.stderr);
    });
  }
});
