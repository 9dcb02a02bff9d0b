import { runCommandLine } from "./cli/command-line.ts";

// Set, not passed to exit(): what is still being written to stdout gets out.
process.exitCode = await runCommandLine(process.argv.slice(2));
