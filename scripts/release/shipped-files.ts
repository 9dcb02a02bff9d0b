/** The files that every artifact contains: bundle, pages, API description, manifest. */
import { execFileSync } from "node:child_process";
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { brotliCompressSync } from "node:zlib";
import { packedDescription } from "../../src/cli/api/packed-description.ts";
import { docsIndexName, docsPages, packedDocs, readDocs } from "../../src/lib/io/own-docs.ts";
import { packCountries, packedCountriesPath, readShippedCountries } from "../../src/geo/shipped-countries.ts";
import { bundlePrograms } from "../bundling.ts";
import type { BundlePlan } from "../bundling.ts";
import type { ArchiveFile } from "./archive.ts";
import { buildFolder, readCommit, root } from "./paths.ts";
import { lineMappings } from "./line-mappings.ts";

/** Folder of the bundle in an artifact. */
export const bundleFolder = "lib";

/**
 * Bundles the command line and its threads for an artifact.
 * @returns the files, below `lib/`
 */
export async function bundleFor(libraries: BundlePlan["libraries"]): Promise<readonly ArchiveFile[]> {
  const directory = join(buildFolder, `bundle-${libraries}`);
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  await bundlePrograms({ programs: [["src/main.ts"]], directory, placed: join(root, bundleFolder), libraries });
  return filesIn(directory, bundleFolder).map((file) =>
    file.path.endsWith(".map") ? withoutSources(file, directory) : file,
  );
}

/** Returns the pages, the API's description, the documentation and the countries of addresses. */
export async function pagesAndDescription(): Promise<readonly ArchiveFile[]> {
  const node = process.execPath;
  execFileSync(node, [join(root, "console", "build.js")], { stdio: ["ignore", 2, 2] });
  const pages = filesIn(join(root, "console", "dist"), "console/dist").filter(
    ({ path }) => !/\/(?:built|(?:assets\/)?kit[.-][^/]+)$/.test(path),
  );
  const description = brotliCompressSync(readFileSync(join(root, "openapi.json")));
  const countries = packCountries(await readShippedCountries());
  return [
    ...pages,
    { path: packedDescription, bytes: description },
    { path: packedCountriesPath, bytes: countries },
    packDocumentation(),
  ];
}

/** Returns the documentation that the server offers to assistants, compressed to a fifth. */
function packDocumentation(): ArchiveFile {
  const texts = [docsIndexName, ...docsPages()].sort().map((name) => [name, readDocs(name)]);
  return { path: packedDocs, bytes: brotliCompressSync(JSON.stringify(Object.fromEntries(texts))) };
}

/** Returns the manifest of an artifact: version, commit, and fields for npm. */
export function makeManifest(more: object): ArchiveFile {
  const own = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Record<string, unknown>;
  const { name, version, description, license, type, engines } = own;
  const made = { name, version, description, license, type, engines, commit: readCommit(), ...more };
  return { path: "package.json", bytes: Buffer.from(`${JSON.stringify(made, undefined, 2)}\n`) };
}

/** Returns every file below `folder`, with paths below `under`. */
export function filesIn(folder: string, under: string): readonly ArchiveFile[] {
  return globSync("**/*", { cwd: folder, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((file) => ({ path: `${under}/${file.slice(folder.length + 1)}`, bytes: readFileSync(file) }));
}

/** Writes files below `folder`, which is emptied first. */
export function writeFiles(folder: string, files: readonly ArchiveFile[]): void {
  rmSync(folder, { recursive: true, force: true });
  for (const { path, bytes, isExecutable = false } of files) {
    mkdirSync(join(folder, path, ".."), { recursive: true });
    writeFileSync(join(folder, path), bytes, { mode: isExecutable ? 0o755 : 0o644 });
  }
}

/**
 * A source map contains lines and functions, because the text of the sources would double the package's size. Paths of
 * sources are relative to the bundle's final folder.
 */
function withoutSources(file: ArchiveFile, directory: string): ArchiveFile {
  const { sourcesContent: _text, names: _names, ...map } = JSON.parse(Buffer.from(file.bytes).toString()) as SourceMap;
  const sources = map.sources.map((source) => relative(join(root, bundleFolder), join(directory, source)));
  const mappings = lineMappings(map.mappings);
  return { ...file, bytes: Buffer.from(JSON.stringify({ ...map, names: [], sources, mappings })) };
}

interface SourceMap {
  readonly sources: readonly string[];
  readonly mappings: string;
  readonly sourcesContent?: unknown;
  readonly names?: unknown;
}
