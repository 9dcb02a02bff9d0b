/** A minimal Debian in a folder, in which a check installs packages. */
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root as checkout } from "../../scripts/release/paths.ts";
import { output } from "./artifacts.ts";

/** Debian packages that Postern's package depends on, without Node. */
const packages = "passwd,procps,libatomic1,libstdc++6,ca-certificates";

export interface DebianRoot {
  readonly folder: string;
  /** Program and first words that run a command in the root. */
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /**
   * Runs a command in the root.
   * @returns the output
   */
  run(...words: readonly string[]): string;
  remove(): void;
}

export function makeDebianRoot(): DebianRoot {
  const folder = mkdtempSync(join(tmpdir(), "postern-debian-"));
  const env = { HOME: "/root", PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C.UTF-8" };
  output("tar", ["--extract", "--file", baseRoot(), "--directory", folder, "--exclude=./dev/*"]);
  mkdirSync(join(folder, "dev"), { recursive: true });
  for (const device of ["null", "zero", "urandom", "random"]) {
    output("cp", ["--archive", `/dev/${device}`, join(folder, "dev", device)]);
  }
  return {
    folder,
    command: ["/usr/sbin/chroot", folder],
    env,
    run: (...words) => output("/usr/sbin/chroot", [folder, ...words], { env }),
    remove: () => rmSync(folder, { recursive: true }),
  };
}

/** Returns the root as a tar file. Cached below `node_modules`, and created again if it is missing. */
function baseRoot(): string {
  const folder = join(checkout, "node_modules", ".cache");
  const file = join(folder, "debian-root-with-procps.tar");
  if (existsSync(file)) return file;
  mkdirSync(folder, { recursive: true });
  const sources = ["/etc/apt/sources.list.d/debian.sources", "/etc/apt/sources.list"].filter((path) =>
    existsSync(path),
  );
  const fresh = `${file}.${process.pid}.tar`;
  const words = ["--quiet", "--variant=essential", `--include=${packages}`, "bookworm", fresh];
  output("mmdebstrap", [...words, ...sources.slice(0, 1)]);
  copyFileSync(fresh, file);
  rmSync(fresh);
  return file;
}
