import { runCommandLine } from "./cli/command-line.ts";
import { followLauncher } from "./cli/process/launcher.ts";

/** What the last lines of the log may take to be read. */
const logWaitMs = 1000;

followLauncher();
// A reader that has gone away (`| head`) is no failure.
process.stdout.on("error", () => {});
const exitCode = await runCommandLine(process.argv.slice(2));
const written = (stream: NodeJS.WriteStream): Promise<void> =>
  new Promise((resolve) => stream.write("", () => resolve()));
await written(process.stdout);
// A log that nobody reads any more is not waited for (D10); what is printed is.
await Promise.race([written(process.stderr), new Promise((resolve) => setTimeout(resolve, logWaitMs))]);
// What a failed start has left open does not keep the process.
process.exit(exitCode);
