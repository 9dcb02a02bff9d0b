/**
 * Prints V8's compiled code for a file of the bundle: `node FLAGS scripts/release/compile.ts FILE`, with the version of
 * Node and the flags of the thread that will load the code.
 */
import { readFileSync } from "node:fs";
import { SourceTextModule } from "node:vm";

const [file = ""] = process.argv.slice(2);
const module = new SourceTextModule(readFileSync(file, "latin1"), { identifier: "postern" });
// Node's types lack this method.
process.stdout.write((module as unknown as { createCachedData(): Buffer }).createCachedData());
