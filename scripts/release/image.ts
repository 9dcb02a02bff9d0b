/** Container images, written without a container builder: one archive per platform. Decision 42 explains why. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { withFolders } from "./archive.ts";
import type { ArchiveFile } from "./archive.ts";
import { baseRoot, systems, user } from "./image/base-root.ts";
import { layoutOf } from "./image/layout.ts";
import type { Layout } from "./image/layout.ts";
import { repository } from "../site/repository.ts";
import { checkSize } from "./notes.ts";
import { readCommit, distFolder, executablePath, root, sourceDateEpoch, version } from "./paths.ts";
import type { LinuxPlatform } from "./paths.ts";

const program = "usr/bin/postern";

/** Run configuration of the image; `deploy/Dockerfile` contains the same. */
export const run = {
  User: `${user}:${user}`,
  Entrypoint: [`/${program}`],
  Cmd: ["serve"],
  WorkingDir: "/data",
  Env: ["PATH=/usr/bin", "HOME=/data", "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt", "POSTERN_DATA=/data"],
  Volumes: { "/data": {} },
  ExposedPorts: { "4443/tcp": {}, "8443/tcp": {} },
  StopSignal: "SIGTERM",
  // Docker reads this field in images of both formats. The durations are in nanoseconds.
  Healthcheck: {
    Test: ["CMD", `/${program}`, "health"],
    Interval: 10_000_000_000,
    Timeout: 5_000_000_000,
    StartPeriod: 30_000_000_000,
    Retries: 3,
  },
} as const;

/** @param made time of the image, in seconds since 1970 */
export function makeLabels(made: number): Readonly<Record<string, string>> {
  const { description, license } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    readonly description: string;
    readonly license: string;
  };
  return {
    "org.opencontainers.image.title": "Postern",
    "org.opencontainers.image.description": description,
    "org.opencontainers.image.licenses": license,
    "org.opencontainers.image.source": repository,
    "org.opencontainers.image.version": version,
    "org.opencontainers.image.revision": readCommit(),
    "org.opencontainers.image.created": new Date(made * 1000).toISOString(),
    "org.opencontainers.image.base.name": "debian:bookworm",
  };
}

/**
 * Returns the image of `executable`.
 * @param base files below it
 */
export function imageOf(platform: LinuxPlatform, base: readonly ArchiveFile[], executable: Buffer): Layout {
  const time = sourceDateEpoch();
  const own: readonly ArchiveFile[] = [
    { path: program, bytes: executable, isExecutable: true },
    { path: "usr/share/doc/postern/copyright", bytes: readFileSync(join(root, "LICENSE")) },
    { path: "data/", mode: 0o700, owner: user, bytes: Buffer.alloc(0) },
    { path: "tmp/", mode: 0o1777, bytes: Buffer.alloc(0) },
  ];
  return layoutOf({
    architecture: systems[platform].architecture,
    reference: `postern:${version}`,
    time,
    layers: [
      { about: "Debian's C and C++ libraries, certificates and time zones", files: base },
      { about: `Postern ${version}`, files: withFolders(own) },
    ],
    run: { ...run, Labels: makeLabels(time) },
  });
}

/** Returns the path of the image for `platform`. */
export function imagePath(platform: LinuxPlatform): string {
  return join(distFolder, `postern-${version}-image-${systems[platform].architecture}.tar`);
}

/**
 * Writes the image for `platform`, whose executable must exist.
 * @returns its path
 * @throws if the image is too large
 */
export function writeImage(platform: LinuxPlatform): string {
  const layout = imageOf(platform, baseRoot(platform), readFileSync(executablePath(platform)));
  const path = imagePath(platform);
  checkSize("image", path, layout.downloadBytes);
  mkdirSync(distFolder, { recursive: true });
  writeFileSync(path, layout.archive);
  return path;
}
