/**
 * `npm run docs`: builds the documentation site into `docs/site/dist` and checks its links, anchors, code blocks and
 * pictures. `-- --serve` then serves the site on the loopback address. `-- --watch` serves it without a build and
 * reloads changed pages.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { docsPages } from "../src/lib/io/own-docs.ts";
import { findBrokenLinks } from "./site/links.ts";
import { faultsOfBlocks } from "./site/code-blocks.ts";
import { faultsOfPictures } from "./site/pictures.ts";
import { serveSite } from "./site/serve.ts";

const site = "docs/site";
const port = 4173;

installGenerator();
if (process.argv.includes("--watch")) {
  runVitepress("dev", "--host", "127.0.0.1", "--port", String(port));
} else {
  runVitepress("build");
  copyMarkdown();
  checkLinks();
  if (process.argv.includes("--serve")) {
    serveSite(`${site}/dist`, port).on("listening", () => process.stdout.write(`http://127.0.0.1:${port}/\n`));
  }
}

/** Installs the site's generator if it is missing or the lockfile has changed. */
function installGenerator(): void {
  const marker = `${site}/node_modules/.postern-lock`;
  const lock = createHash("sha256")
    .update(readFileSync(`${site}/package-lock.json`))
    .digest("hex");
  if (existsSync(marker) && readFileSync(marker, "utf8") === lock) return;
  process.stdout.write("installing the generator of the documentation site (npm ci) …\n");
  const npm = spawnSync("npm", ["ci"], { cwd: site, stdio: "inherit", shell: process.platform === "win32" });
  if (npm.status !== 0) failWith(`\`npm ci\` in ${site} failed. Fix the error above and run the command again.`);
  writeFileSync(marker, lock);
}

function runVitepress(...args: readonly string[]): void {
  const file = `${import.meta.dirname}/../${site}/node_modules/vitepress/bin/vitepress.js`;
  const run = spawnSync(process.execPath, [file, ...args], { cwd: site, stdio: "inherit" });
  if (run.status !== 0) failWith(`vitepress ${args[0]} failed. Fix the error above and run the command again.`);
}

/** Offers the pages as Markdown to assistants, at the same addresses as a running server. */
function copyMarkdown(): void {
  for (const page of docsPages()) {
    const copy = `${site}/dist/docs/${page}`;
    mkdirSync(dirname(copy), { recursive: true });
    copyFileSync(`docs/${page}`, copy);
  }
  copyFileSync("docs/llms.txt", `${site}/dist/llms.txt`);
}

function checkLinks(): void {
  const pages = globSync("docs/{*,guides/*,concepts/*,architecture/*,reference/*}.md");
  const faults = [
    ...findBrokenLinks(`${site}/dist`),
    ...faultsOfPictures(),
    ...pages.flatMap((page) => faultsOfBlocks(readFileSync(page, "utf8")).map((fault) => `${page}:${fault}`)),
  ];
  for (const fault of faults) process.stdout.write(`${fault}\n`);
  if (faults.length > 0) failWith(`The documentation has ${faults.length} broken links, code blocks or pictures.`);
  process.stdout.write(`docs: ok (${pages.length} pages, links, anchors, code blocks and pictures checked)\n`);
}

function failWith(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
