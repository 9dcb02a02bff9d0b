/** `postern people invite`: the way in for the first person. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startCommand } from "../support/command.ts";
import { startPlatform } from "../support/platform.ts";
import type { TestPlatform } from "../support/platform.ts";
import { runSharedCommand } from "../support/shared-command.ts";

describe("postern people invite", { timeout: 120_000 }, () => {
  let platform: TestPlatform;
  before(async () => {
    platform = await startPlatform({ drainMs: 50 });
  });
  after(() => platform.stop());
  const invite = (...args: string[]) =>
    runSharedCommand(["people", "invite", ...args], { env: { POSTERN_DATA: platform.directory } });

  it("postern people invite prints a link for the first person, which the API accepts once", async () => {
    const { code, stdout, stderr } = await invite("Ann@example.com", "--role", "operator", "--expires", "24h");
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^Send this link to ann@example\.com \(operator\):$/m);
    assert.match(stdout, /^ {2}http:\/\/localhost:\d+\/#invite=[0-9a-z]{40}$/m);
    const { person_invitations: all } = (await platform.api("GET", "/person_invitations")).body;
    assert.deepEqual([all[0].email, all[0].role, all[0].url], ["ann@example.com", "operator", null]);
    const hours = (Date.parse(all[0].expires_at) - Date.parse(all[0].created_at)) / 3_600_000;
    assert.ok(Math.abs(hours - 24) < 0.1, String(hours));
  });

  it("postern people invite as a process prints JSON, and explains a wrong address or role", async () => {
    const run = startCommand(["people", "invite", "ben@example.com", "--json"], {
      env: { POSTERN_DATA: platform.directory },
    });
    const { code, stdout } = await run.finished;
    assert.equal(code, 0);
    assert.equal(JSON.parse(stdout).role, "viewer");
    const wrong = await invite("ben");
    assert.notEqual(wrong.code, 0);
    assert.match(wrong.stderr, /email/);
    const role = await invite("ben@example.com", "--role", "king");
    assert.match(role.stderr, /--role must be .*viewer/);
  });
});
