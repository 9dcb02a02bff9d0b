/** The npm package: bundle, pages and launcher. It depends only on Node, through one optional package per system. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { tarGz } from "./archive.ts";
import type { ArchiveFile } from "./archive.ts";
import { repository } from "../site/repository.ts";
import { checkSize } from "./notes.ts";
import { distFolder, root, sourceDateEpoch, version } from "./paths.ts";
import { bundleFor, makeManifest, pagesAndDescription } from "./shipped-files.ts";

/** Path of the package. */
export const npmPackagePath = join(distFolder, `postern-${version}.tgz`);

/**
 * Builds the package.
 * @returns the artifact's path
 */
export async function buildNpmPackage(): Promise<string> {
  const { optionalDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    optionalDependencies: Record<string, string>;
  };
  const files: readonly ArchiveFile[] = [
    makeManifest({ repository, bin: { postern: "bin/postern.js" }, optionalDependencies }),
    { ...fromCheckout("bin/packaged.js"), path: "bin/postern.js", isExecutable: true },
    ...["bin/start.js", "bin/in-thread.js", "LICENSE", "README.md"].map(fromCheckout),
    ...(await pagesAndDescription()),
    ...(await bundleFor("beside")),
  ];
  checkSize(
    "npm",
    "the installed npm package",
    files.reduce((sum, { bytes }) => sum + bytes.length, 0),
  );
  mkdirSync(distFolder, { recursive: true });
  const packed = files.map((file) => ({ ...file, path: `package/${file.path}` }));
  writeFileSync(npmPackagePath, tarGz(packed, sourceDateEpoch()));
  return npmPackagePath;
}

function fromCheckout(path: string): ArchiveFile {
  return { path, bytes: readFileSync(join(root, path)) };
}
