import { runCommandLine } from "./cli/command-line.ts";
import { followLauncher } from "./cli/process/launcher.ts";

/** Maximum time to write the last lines of the log, milliseconds. */
const logWaitMs = 1000;

followLauncher();
// A reader that has closed the pipe (`| head`) is not an error.
process.stdout.on("error", () => {});
const exitCode = await runCommandLine(process.argv.slice(2));
const waitUntilWritten = (stream: NodeJS.WriteStream): Promise<void> =>
  new Promise((resolve) => stream.write("", () => resolve()));
await waitUntilWritten(process.stdout);
// Do not wait for a log without a reader (D10), but wait for the output.
await Promise.race([waitUntilWritten(process.stderr), new Promise((resolve) => setTimeout(resolve, logWaitMs))]);
// Handles that a failed start left open must not keep the process alive.
process.exit(exitCode);
