/** The files below the executable: the C and C++ libraries, certificates of public authorities, and time zones. */
import { execFileSync } from "node:child_process";
import { lstatSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { LinuxPlatform } from "../paths.ts";
import { withFolders } from "../archive.ts";
import type { ArchiveFile } from "../archive.ts";

const nothing = Buffer.alloc(0);

/** Release of Debian. The executable needs its C library or a newer one. */
const suite = "bookworm";

const packages = ["ca-certificates", "libatomic1", "libc6", "libgcc-s1", "libstdc++6", "tzdata"];

/** Debian's names of each platform. `loader` is the dynamic linker, whose path is part of every executable. */
export const systems: Readonly<
  Record<LinuxPlatform, { readonly architecture: "amd64" | "arm64"; readonly folder: string; readonly loader: string }>
> = {
  "linux-x64": { architecture: "amd64", folder: "x86_64-linux-gnu", loader: "lib64/ld-linux-x86-64.so.2" },
  "linux-arm64": { architecture: "arm64", folder: "aarch64-linux-gnu", loader: "lib/ld-linux-aarch64.so.1" },
};

/** Whether the executable uses a file of the packages. Others, such as Perl modules of debconf, are omitted. */
function isNeeded(path: string, platform: LinuxPlatform): boolean {
  const { folder, loader } = systems[platform];
  const libraries = `^(usr/)?lib/${folder}/(ld-linux-[^/]*|lib(c|m|dl|pthread|rt|resolv|nss_dns|nss_files|gcc_s|stdc\\+\\+|atomic)\\.so(\\.[0-9.]+)?)$`;
  return (
    path === loader ||
    new RegExp(libraries).test(path) ||
    path.startsWith("usr/share/zoneinfo/") ||
    /^usr\/share\/doc\/(ca-certificates|gcc-12-base|lib(c6|gcc-s1|stdc\+\+6|atomic1)|tzdata)(\/copyright)?$/.test(path)
  );
}

/**
 * Downloads Debian's packages and extracts the necessary files. No program of the packages runs, so a machine can build
 * the root for another architecture.
 */
export function baseRoot(platform: LinuxPlatform): readonly ArchiveFile[] {
  const { architecture } = systems[platform];
  const root = mkdtempSync("/tmp/postern-base-root-");
  const described =
    'cd "$1/var/cache/apt/archives"; for deb in *.deb; do dpkg-deb -f "$deb" > "$1/$(dpkg-deb -f "$deb" Package).control"; done';
  try {
    execFileSync(
      "mmdebstrap",
      [
        "--quiet",
        "--variant=extract",
        `--architectures=${architecture}`,
        `--include=${packages.join(",")}`,
        `--extract-hook=${described}`,
        "--format=directory",
        suite,
        root,
      ],
      { stdio: ["ignore", 2, 2] },
    );
    const found = [...filesUnder(root, "", (path) => isNeeded(path, platform))];
    return withFolders([...found, bundleAuthorities(root), ...listDescriptions(root), ...systemFiles, ...mountPoints]);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

function* filesUnder(root: string, folder: string, isWanted: (path: string) => boolean): Generator<ArchiveFile> {
  for (const name of readdirSync(join(root, folder))) {
    const path = folder === "" ? name : `${folder}/${name}`;
    const stat = lstatSync(join(root, path));
    if (stat.isDirectory()) yield* filesUnder(root, path, isWanted);
    else if (isWanted(path) && stat.isSymbolicLink()) {
      yield { path, bytes: nothing, linkTo: readlinkSync(join(root, path)) };
    } else if (isWanted(path) && stat.isFile()) {
      yield { path, mode: stat.mode & 0o777, bytes: readFileSync(join(root, path)) };
    }
  }
}

/** Debian creates this file during the installation of the package. */
function bundleAuthorities(root: string): ArchiveFile {
  const folder = join(root, "usr/share/ca-certificates/mozilla");
  const names = readdirSync(folder).sort((a, b) => (a < b ? -1 : 1));
  const bytes = Buffer.concat(names.map((name) => readFileSync(join(folder, name))));
  return { path: "etc/ssl/certs/ca-certificates.crt", bytes };
}

/** Image scanners read the packages and their versions here. */
function* listDescriptions(root: string): Generator<ArchiveFile> {
  for (const name of [...packages, "gcc-12-base"]) {
    const path = `var/lib/dpkg/status.d/${name.replace("+", "p")}`;
    yield { path, bytes: readFileSync(join(root, `${name}.control`)) };
  }
}

/** Number of the server's user and group. */
export const user = 65_532;

/** Mount points of container runtimes. They cannot be added later to a read-only root. */
const mountPoints: readonly ArchiveFile[] = [
  "dev/",
  "proc/",
  "sys/",
  "run/",
  "etc/hostname",
  "etc/hosts",
  "etc/resolv.conf",
].map((path) => ({ path, bytes: nothing }));

const systemFiles: readonly ArchiveFile[] = Object.entries({
  "etc/passwd": `root:x:0:0:root:/:/nonexistent\npostern:x:${user}:${user}:Postern:/data:/nonexistent\n`,
  "etc/group": `root:x:0:\npostern:x:${user}:\n`,
  "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
  "etc/os-release": `PRETTY_NAME="Debian GNU/Linux 12 (${suite})"\nID=debian\nVERSION_ID="12"\nVERSION_CODENAME=${suite}\n`,
}).map(([path, text]) => ({ path, bytes: Buffer.from(text) }));
