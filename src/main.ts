import { runCommandLine } from "./cli/command-line.ts";

// A reader that has gone away (`| head`) is no failure.
process.stdout.on("error", () => {});
const exitCode = await runCommandLine(process.argv.slice(2));
await Promise.all(
  [process.stdout, process.stderr].map((stream) => new Promise((written) => stream.write("", written))),
);
// What a failed start has left open does not keep the process.
process.exit(exitCode);
