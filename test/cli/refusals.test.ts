/** The errors of commands with `--json`: a stable code, a sentence, and the next step. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import type { RefusalName } from "../../src/lib/errors.ts";
import { startPlatform } from "../support/platform.ts";
import type { TestPlatform } from "../support/platform.ts";
import { runSharedCommand } from "../support/shared-command.ts";

describe("errors of commands", { timeout: 60_000 }, () => {
  const home = mkdtempSync(join(tmpdir(), "postern-refusals-"));
  let platform: TestPlatform;
  before(async () => {
    platform = await startPlatform({ drainMs: 50 });
    writeFileSync(join(home, "ca.pem"), platform.caPem);
  });
  after(async () => {
    await platform.stop();
    rmSync(home, { recursive: true });
  });
  const way = (): string[] => ["--server", `127.0.0.1:${platform.agentPort}`, "--ca", join(home, "ca.pem")];
  const api = (): string[] => ["--api-url", platform.apiUrl];

  const cases: readonly (readonly [
    what: string,
    args: () => readonly string[],
    exitCode: number,
    code: RefusalName,
    message: RegExp,
  ])[] = [
    [
      "an option that there is not",
      () => ["http", "--no-such"],
      2,
      "command_usage",
      /`postern http` has no option --no-such/,
    ],
    ["no command", () => ["htp"], 2, "command_usage", /unknown command "htp" \(did you mean "http"\?\)/],
    [
      "a file that is wrong",
      () => ["start", "--all", "--config", join(home, "wrong.yml")],
      2,
      "command_usage",
      /wrong\.yml:1:19: unknown key "adr"/,
    ],
    [
      "a wrong token",
      () => ["http", "80", ...way(), "--token", "x"],
      3,
      "agent_token_unknown",
      /rejected the agent token/,
    ],
    [
      "no server",
      () => ["http", "80", "--server", "127.0.0.1:1", "--token", "x"],
      4,
      "command_unreachable",
      /cannot reach the server 127\.0\.0\.1:1: nothing listens there/,
    ],
    [
      "a certificate of another authority",
      () => ["http", "80", ...way().slice(0, 2), "--ca", "system", "--token", "x"],
      4,
      "command_unreachable",
      /is not trusted \([^;]+\): set its CA with --ca FILE$/,
    ],
    [
      "a URL that is the server's own",
      () => ["http", "80", ...way(), "--token", platform.authtoken, "--url", "https://idp.localhost"],
      5,
      "agent_name_taken",
      /the URL is not available: /,
    ],
    [
      "a service that is down",
      () => ["http", "1", ...way(), "--token", platform.authtoken, "--require-upstream"],
      6,
      "command_upstream",
      /cannot reach the service at http:\/\/localhost:1/,
    ],
    ["no local agent", () => ["agent", "status", "--inspector", "1"], 4, "command_unreachable", /start one, or set/],
    [
      "a wrong key",
      () => ["export", ...api(), "--api-key", "wrong"],
      3,
      "unknown_credentials",
      /\(ERR_POSTERN_\d+, op_\w+\)/,
    ],
  ];
  for (const [what, args, exitCode, code, message] of cases) {
    it(`errors of commands have a stable code as JSON: ${what}`, async () => {
      writeFileSync(join(home, "wrong.yml"), "tunnels: { web: { adr: 80 } }");
      const env = { HOME: home, XDG_CONFIG_HOME: home, POSTERN_DATA: join(home, "none") };
      const ended = await runSharedCommand([...args(), "--json"], { env });
      const last = ended.stderr.trimEnd().split("\n").at(-1) ?? "";
      const { error } = JSON.parse(last) as { error: Record<string, unknown> };
      assert.deepEqual([ended.code, error["exit_code"], error["code"]], [exitCode, exitCode, errorCode(code)], last);
      assert.match(String(error["message"]), message);
      assert.match(String(error["fix"]), /^\S.*\.$/);
      assert.equal(ended.stdout, "");
      assert.doesNotMatch(ended.stderr, /\bat .*\.ts:/);
    });
  }

  it("errors of commands are one sentence without --json, also after --", async () => {
    for (const args of [
      ["http", "--no-such"],
      ["api", "--", "--json"],
    ]) {
      const { code, stderr } = await runSharedCommand(args, { env: { HOME: home } });
      assert.equal(code, 2);
      assert.match(stderr, /^postern: [^\n]+\n$/);
    }
  });
});
