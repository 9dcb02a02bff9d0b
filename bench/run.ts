/** `npm run bench [-- NAME …]`: runs the named benchmarks, or lists them. */
import { globSync } from "node:fs";
import "../scripts/bundle.ts";

const names = globSync("bench/*.bench.ts")
  .map((file) => file.slice("bench/".length, -".bench.ts".length))
  .sort();
const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => name !== "all" && !names.includes(name));
if (wanted.length === 0 || unknown.length > 0) {
  process.stdout.write(`Benchmarks: ${names.join(", ")}, or all. See bench/README.md.\n`);
  process.exit(unknown.length > 0 ? 2 : 0);
}
for (const name of wanted.includes("all") ? names : wanted) await import(`./${name}.bench.ts`);
process.exit(0);
