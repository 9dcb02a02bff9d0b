/** Artifacts of the previous commit, for checks of upgrades. Built once per commit, below `node_modules/.cache`. */
import { execFileSync, spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "../../scripts/release/paths.ts";

export interface PreviousRelease {
  /** 40 hexadecimal digits. */
  readonly commit: string;
  readonly npmPackage: string;
  readonly executable: string;
  readonly debianPackage: string;
}

const cache = join(root, "node_modules", ".cache", "previous-release");

/**
 * Returns the artifacts for x64, or the reason why there are none.
 * @throws if they cannot be built
 */
export function previousRelease(): PreviousRelease | string {
  const { status, stdout } = spawnSync("git", ["rev-parse", "--verify", "--quiet", "HEAD^"], { cwd: root });
  if (status !== 0) return "needs the previous commit, and this clone has only one (git fetch --deepen=1)";
  const commit = String(stdout).trim();
  const folder = join(cache, commit);
  const complete = join(folder, "complete");
  if (!existsSync(complete)) {
    rmSync(cache, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    build(commit, folder);
    writeFileSync(complete, "");
  }
  const [npmPackage, executable, debianPackage] = ["*.tgz", "postern-*-linux-x64", "*_amd64.deb"].map((pattern) => {
    const [name] = globSync(pattern, { cwd: folder });
    if (name === undefined) throw new Error(`find ${pattern} of commit ${commit}: remove "${cache}" and try again`);
    return join(folder, name);
  }) as [string, string, string];
  return { commit, npmPackage, executable, debianPackage };
}

/** Builds in a worktree, with the dependencies of this checkout if they are identical. */
function build(commit: string, folder: string): void {
  const directory = mkdtempSync(join(tmpdir(), "postern-previous-"));
  const checkout = join(directory, "checkout");
  const run = (program: string, words: readonly string[], cwd: string): void => {
    execFileSync(program, words, {
      cwd,
      stdio: ["ignore", 2, 2],
      env: { ...process.env, POSTERN_RELEASE_FOLDER: "dist" },
    });
  };
  run("git", ["worktree", "add", "--quiet", "--detach", checkout, commit], root);
  try {
    const lock = (of: string): string => readFileSync(join(of, "package-lock.json"), "utf8");
    if (lock(checkout) === lock(root)) symlinkSync(join(root, "node_modules"), join(checkout, "node_modules"));
    else run("npm", ["ci", "--silent", "--no-audit"], checkout);
    run(process.execPath, ["scripts/release.ts", "npm", "executable", "debian", "--x64"], checkout);
    cpSync(join(checkout, "dist"), folder, { recursive: true });
  } finally {
    run("git", ["worktree", "remove", "--force", checkout], root);
    rmSync(directory, { recursive: true });
  }
}
