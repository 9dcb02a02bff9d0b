import { exitCodes } from "./exit.ts";

/**
 * Resolves on the first SIGINT or SIGTERM with the exit code that is due; a second one ends the process at once.
 * The process lives on until then.
 */
export function interrupted(): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  let again = false;
  // Signal handlers alone do not keep a process, nor do the timers of an agent between two attempts.
  const keepAlive = setInterval(() => {}, 2 ** 30);
  const onSignal = (signal: NodeJS.Signals): void => {
    const code = signal === "SIGINT" ? exitCodes.interrupted : exitCodes.fine;
    if (again) process.exit(exitCodes.interrupted);
    again = true;
    clearInterval(keepAlive);
    resolve(code);
  };
  process.on("SIGINT", onSignal);
  process.on("SIGTERM", onSignal);
  return promise;
}
