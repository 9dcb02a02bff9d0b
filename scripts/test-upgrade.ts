/**
 * `npm run test:upgrade -- REVISION`: tests that servers of that revision can be upgraded to this one, one after
 * another behind a balancer, without a failed request. Default: the previous commit. A clone without it is skipped.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const [revision = "HEAD^"] = process.argv.slice(2);
if (process.argv.length === 2 && spawnSync("git", ["rev-parse", "--verify", "--quiet", revision]).status !== 0) {
  process.stdout.write("upgrade: skipped, because this clone has only one commit (git fetch --deepen=1)\n");
  process.exit();
}
const directory = mkdtempSync(join(tmpdir(), "postern-earlier-"));
const checkout = join(directory, "checkout");

/** Throws if the command fails. */
function runCommand(command: string, ...args: readonly string[]): void {
  const { status } = spawnSync(command, args, { stdio: "inherit" });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")}: it ended with ${status}`);
}

runCommand("git", "worktree", "add", "--detach", checkout, revision);
try {
  // Its launcher installs the locked dependencies and bundles it.
  runCommand(process.execPath, join(checkout, "bin/postern.js"), "--version");
  process.env["POSTERN_TEST_EARLIER"] = checkout;
  runCommand(process.execPath, "scripts/test.ts", "test/cli/nodes-stop.test.ts");
} finally {
  runCommand("git", "worktree", "remove", "--force", checkout);
  rmSync(directory, { recursive: true, force: true });
}
