/**
 * The Debian package: the executable, its settings, two systemd units, and scripts that preserve data until a purge.
 */
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { compressXz, makeTar, tarGz, withFolders } from "./archive.ts";
import type { ArchiveFile } from "./archive.ts";
import { repository } from "../site/repository.ts";
import { checkSize } from "./notes.ts";
import { distFolder, executablePath, root, sourceDateEpoch, version } from "./paths.ts";
import type { LinuxPlatform } from "./paths.ts";

const sources = fileURLToPath(new URL("./debian/", import.meta.url));
const architectures: Readonly<Record<LinuxPlatform, string>> = { "linux-x64": "amd64", "linux-arm64": "arm64" };

/** Libraries of Node's program, and packages that create the system user and reload the service. */
const depends = "libc6 (>= 2.28), libstdc++6, libgcc-s1, libatomic1, passwd, procps";

/** Returns the path of the package for a platform. */
export function debianPackagePath(platform: LinuxPlatform): string {
  return join(distFolder, `postern_${version}_${architectures[platform]}.deb`);
}

/**
 * Packs the executable of a platform, which must exist.
 * @returns the package's path
 */
export function buildDebianPackage(platform: LinuxPlatform): string {
  const seconds = sourceDateEpoch();
  const installed = installedFiles(platform);
  const data = makeTar(withFolders(installed), seconds);
  const packed = compressXz(data);
  const members = [
    { name: "debian-binary", bytes: Buffer.from("2.0\n") },
    { name: "control.tar.gz", bytes: tarGz(controlFiles(platform, installed), seconds) },
    { name: "data.tar.xz", bytes: packed },
  ];
  const path = debianPackagePath(platform);
  const archive = makeAr(members, seconds);
  checkSize("debian", path, archive.length);
  writeFileSync(path, archive);
  return path;
}

function installedFiles(platform: LinuxPlatform): readonly ArchiveFile[] {
  const source = (name: string): Buffer => readFileSync(join(sources, name));
  return [
    { path: "./usr/bin/postern", bytes: readFileSync(executablePath(platform)), isExecutable: true },
    { path: "./etc/postern/postern.yaml", bytes: source("postern.yaml") },
    { path: "./usr/lib/systemd/system/postern.service", bytes: source("postern.service") },
    { path: "./usr/lib/systemd/system/postern-agent.service", bytes: source("postern-agent.service") },
    { path: "./usr/share/doc/postern/copyright", bytes: readFileSync(join(root, "LICENSE")) },
  ];
}

function controlFiles(platform: LinuxPlatform, installed: readonly ArchiveFile[]): readonly ArchiveFile[] {
  const kilobytes = installed.reduce((sum, { bytes }) => sum + Math.ceil(bytes.length / 1024), 0);
  const control = `Package: postern
Version: ${version}
Architecture: ${architectures[platform]}
Maintainer: The Postern developers <packages@${new URL(repository).hostname}>
Installed-Size: ${kilobytes}
Depends: ${depends}
Recommends: ca-certificates
Homepage: ${repository}
Section: net
Priority: optional
Description: Self-hosted tunnelling and edge routing
 Postern publishes services that cannot be reached from outside. An agent beside
 the service connects to a server, which forwards public traffic to the agent.
`;
  const sums = installed.map(
    ({ path, bytes }) => `${createHash("md5").update(bytes).digest("hex")}  ${path.slice(2)}\n`,
  );
  const scripts = readdirSync(sources).filter((name) => /^(postinst|prerm|postrm)$/.test(name));
  return [
    { path: "./control", bytes: Buffer.from(control) },
    { path: "./conffiles", bytes: Buffer.from("/etc/postern/postern.yaml\n") },
    { path: "./md5sums", bytes: Buffer.from(sums.join("")) },
    ...scripts.map((name) => ({ path: `./${name}`, bytes: readFileSync(join(sources, name)), isExecutable: true })),
  ];
}

/** An ar archive, the format of Debian packages. */
function makeAr(members: readonly { readonly name: string; readonly bytes: Buffer }[], seconds: number): Buffer {
  const parts = members.flatMap(({ name, bytes }) => {
    const columns = [name.padEnd(16), String(seconds).padEnd(12), "0".padEnd(6), "0".padEnd(6), "100644".padEnd(8)];
    const header = `${columns.join("")}${String(bytes.length).padEnd(10)}\`\n`;
    return [Buffer.from(header), bytes, Buffer.from(bytes.length % 2 === 1 ? "\n" : "")];
  });
  return Buffer.concat([Buffer.from("!<arch>\n"), ...parts]);
}
