/**
 * Container images, written without a container builder. `node bin/run.js scripts/release/image.ts [PLATFORM…]` writes one
 * archive per platform to the release folder. Decision 73 says why.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { baseRoot, systems, user, withFolders } from "./image/base-root.ts";
import type { LayerEntry } from "./image/layer.ts";
import { layoutOf } from "./image/layout.ts";
import type { Layout } from "./image/layout.ts";
import { commit, distFolder, executablePath, root, sourceDateEpoch, version } from "./paths.ts";
import type { Platform } from "./paths.ts";

/** Most that a machine may have to download for the image, in bytes. */
const mostBytes = 70_000_000;

const program = "usr/bin/postern";

/** How the image runs; `deploy/Dockerfile` states the same. */
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

/** @param made the time of the image, in seconds since 1970 */
export function labels(made: number): Readonly<Record<string, string>> {
  const { description, license } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    readonly description: string;
    readonly license: string;
  };
  return {
    "org.opencontainers.image.title": "Postern",
    "org.opencontainers.image.description": description,
    "org.opencontainers.image.licenses": license,
    "org.opencontainers.image.version": version,
    "org.opencontainers.image.revision": commit(),
    "org.opencontainers.image.created": new Date(made * 1000).toISOString(),
    "org.opencontainers.image.base.name": "debian:bookworm",
  };
}

/** The image of `executable`. @param base files below it */
export function imageOf(platform: Platform, base: readonly LayerEntry[], executable: Buffer): Layout {
  const time = sourceDateEpoch();
  const own: readonly LayerEntry[] = [
    { path: program, mode: 0o755, content: executable },
    { path: "usr/share/doc/postern/copyright", mode: 0o644, content: readFileSync(join(root, "LICENSE")) },
    { path: "data", mode: 0o700, owner: user, content: "folder" },
    { path: "tmp", mode: 0o1777, content: "folder" },
  ];
  return layoutOf({
    architecture: systems[platform].architecture,
    reference: `postern:${version}`,
    time,
    layers: [
      { about: "Debian's C and C++ libraries, certificates and time zones", entries: base },
      { about: `Postern ${version}`, entries: withFolders(own) },
    ],
    run: { ...run, Labels: labels(time) },
  });
}

/** Where the image for `platform` is written. */
export function imagePath(platform: Platform): string {
  return join(distFolder, `postern-${version}-image-${systems[platform].architecture}.tar`);
}

/** Writes the image for `platform`, whose executable must exist. Throws if the image is too large. */
export function writeImage(platform: Platform): string {
  const layout = imageOf(platform, baseRoot(platform), readFileSync(executablePath(platform)));
  if (layout.downloadBytes > mostBytes) {
    throw new Error(
      `image for ${platform}: ${layout.downloadBytes} bytes compressed, but at most ${mostBytes} are allowed`,
    );
  }
  mkdirSync(distFolder, { recursive: true });
  const path = imagePath(platform);
  writeFileSync(path, layout.archive);
  process.stdout.write(`${path}: ${(layout.downloadBytes / 1e6).toFixed(1)} MB to download, ${layout.digest}\n`);
  return path;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const platforms = process.argv.slice(2) as Platform[];
  for (const platform of platforms.length > 0 ? platforms : (Object.keys(systems) as Platform[])) writeImage(platform);
}
