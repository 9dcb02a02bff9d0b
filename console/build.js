// Builds both pages into console/dist, each file beside its gzipped form; what was there is replaced at once, whole.
// Run by bin/launch.js where sources are newer; plain JavaScript, since it runs before anything is known to be set up.
import { globSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
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
    // What is inlined as a data URL is not what the policy of the pages admits.
    assetsInlineLimit: 0,
    rollupOptions: { input: [join(root, "index.html"), join(root, "inspector.html")] },
  },
});
for (const file of globSync("**/*.{js,css,html,svg}", { cwd: fresh })) {
  writeFileSync(join(fresh, `${file}.gz`), gzipSync(readFileSync(join(fresh, file)), { level: 9 }));
}
writeFileSync(join(fresh, "built"), "");
try {
  rmSync(dist, { recursive: true, force: true });
  renameSync(fresh, dist);
} catch (error) {
  // Another process has built the same meanwhile.
  rmSync(fresh, { recursive: true, force: true });
  if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
}
