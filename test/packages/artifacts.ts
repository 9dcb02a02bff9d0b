/** The artifacts that `npm run release` built, and empty places to install them in. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findExecutable } from "../support/programs.ts";

/**
 * Programs for building and testing packages, with their Debian packages. Unlike the programs of
 * `test/support/programs.ts`, none of them is required in CI. They need root, a Debian mirror and mounts, which a
 * healthy machine may lack.
 */
const programs = {
  buildah: { names: ["buildah"], package: "buildah" },
  mmdebstrap: { names: ["mmdebstrap"], package: "mmdebstrap" },
  nsenter: { names: ["nsenter"], package: "util-linux" },
  ip: { names: ["ip"], package: "iproute2" },
  qemu: { names: ["qemu-aarch64-static"], package: "qemu-user-static" },
  strip: { names: ["x86_64-linux-gnu-strip"], package: "binutils" },
  "strip for arm64": { names: ["aarch64-linux-gnu-strip"], package: "binutils-aarch64-linux-gnu" },
  "systemd-analyze": { names: ["systemd-analyze"], package: "systemd" },
  xz: { names: ["xz"], package: "xz-utils" },
} as const;

type PackagingProgram = keyof typeof programs | "root";

/**
 * Returns the `skip` option of checks that need these programs, or root: false if everything is available, otherwise
 * the reason.
 */
export function skipWithoutPackaging(...needed: readonly PackagingProgram[]): string | false {
  const missing = needed.filter((name) => name !== "root" && findExecutable(programs[name].names) === undefined);
  if (missing.length > 0) {
    const packages = missing.flatMap((name) => (name === "root" ? [] : [programs[name].package]));
    return `needs ${missing.join(" and ")} (apt-get install ${packages.join(" ")})`;
  }
  return needed.includes("root") && process.getuid?.() !== 0 ? "needs root" : false;
}

/**
 * Returns the path of an artifact.
 * @throws if it was not built
 */
export function built(path: string): string {
  if (!existsSync(path)) throw new Error(`find "${path}": run \`npm run release\` first`);
  return path;
}

/** Creates a folder with an empty home and an empty working directory. */
export function emptyPlace(): { readonly folder: string; readonly home: string; readonly cwd: string } {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "postern-package-")));
  const [home, cwd] = [join(folder, "home"), join(folder, "work")];
  mkdirSync(home);
  mkdirSync(cwd);
  return { folder, home, cwd };
}

/** Returns the output of a program. */
export function output(
  program: string,
  words: readonly string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
): string {
  return execFileSync(program, words, { encoding: "utf8", maxBuffer: 2 ** 26, ...options });
}
