/** `npm run generate`: writes the files that are generated from the declarations. `-- --check` only compares. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { generatedFiles } from "./generated.ts";

const check = process.argv.includes("--check");
for (const [file, content] of await generatedFiles()) {
  if (existsSync(file) && readFileSync(file, "utf8") === content) continue;
  if (check) {
    process.stdout.write(`${file} is stale: run \`npm run generate\`\n`);
    process.exitCode = 1;
  } else {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
    process.stdout.write(`${file} written\n`);
  }
}
