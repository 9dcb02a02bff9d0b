// Builds the pages into console/dist, each file with its gzipped form. The previous build is replaced atomically.
// bin/launch.js runs it if sources are newer. It is plain JavaScript because it runs before the setup is verified.
import { globSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "vite";

const root = import.meta.dirname;
const dist = join(root, "dist");
const fresh = join(root, `.dist-${process.pid}`);

await build({
  root,
  configFile: false,
  logLevel: "warn",
  publicDir: false,
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: fresh,
    emptyOutDir: true,
    target: "es2023",
    modulePreload: { polyfill: false },
    // The pages' content security policy does not allow inlined data URLs.
    assetsInlineLimit: 0,
    rollupOptions: { input: ["index.html", "inspector.html", "kit.html"].map((page) => join(root, page)) },
  },
});
for (const file of globSync("**/*.{js,css,html,svg}", { cwd: fresh })) {
  writeFileSync(join(fresh, `${file}.gz`), gzipSync(readFileSync(join(fresh, file)), { level: 9 }));
}
// The bundle contains the icons without the comment with their license.
const icons = dirname(createRequire(import.meta.url).resolve("lucide/package.json"));
writeFileSync(join(fresh, "license-of-icons.txt"), readFileSync(join(icons, "LICENSE")));
writeFileSync(join(fresh, "built"), "");
try {
  rmSync(dist, { recursive: true, force: true });
  renameSync(fresh, dist);
} catch (error) {
  // Another process has built the same pages in the meantime.
  rmSync(fresh, { recursive: true, force: true });
  if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
}
