import { exitCodes } from "./exit.ts";

/**
 * Signals this soon after the first are the same wish, milliseconds: a terminal sends Ctrl+C to every process of
 * the group, and npm and the launcher pass it on as well.
 */
const sameWishMs = 500;

/**
 * Calls `reload` on SIGHUP. A process in a terminal keeps the usual meaning, which is that the terminal has closed, and
 * ends.
 */
export function onReload(reload: () => void): void {
  if (!process.stdin.isTTY) process.on("SIGHUP", reload);
}

/**
 * Resolves on the first SIGINT or SIGTERM with the exit code that is due; a second one ends the process at once.
 * The process lives on until then.
 */
export function interrupted(): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  let first: number | undefined;
  // Signal handlers alone do not keep a process, nor do the timers of an agent between two attempts.
  const keepAlive = setInterval(() => {}, 2 ** 30);
  const onSignal = (signal: NodeJS.Signals): void => {
    const now = performance.now();
    if (first === undefined) {
      first = now;
      clearInterval(keepAlive);
      resolve(signal === "SIGINT" ? exitCodes.interrupted : exitCodes.fine);
    } else if (now - first > sameWishMs) {
      process.exit(exitCodes.interrupted);
    }
  };
  process.on("SIGINT", onSignal);
  process.on("SIGTERM", onSignal);
  return promise;
}
