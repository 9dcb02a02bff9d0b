import { exitCodes } from "./exit.ts";

/**
 * Signals within this time of the first count as the same signal, milliseconds. A terminal sends Ctrl+C to every
 * process of the group, and npm and the launcher forward it as well.
 */
const sameWishMs = 500;

/**
 * Calls `reload` on SIGHUP. A process in a terminal keeps the usual meaning: the terminal has closed, and the process
 * ends.
 */
export function onReload(reload: () => void): void {
  if (!process.stdin.isTTY) process.on("SIGHUP", reload);
}

/**
 * Resolves on the first SIGINT or SIGTERM with the exit code. A second signal ends the process immediately. Keeps the
 * process alive until then.
 */
export function waitForSignal(): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  let first: number | undefined;
  // Signal handlers and the agent's retry timers do not keep a process alive.
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
