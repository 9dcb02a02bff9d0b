/** Runs the server as a child process of `postern up --foreground`. */
import { spawn } from "node:child_process";
import { once } from "node:events";

export interface ForegroundServer {
  /** Resolves with the exit code when the server has ended. */
  readonly ended: Promise<number>;
  stop(): void;
}

/**
 * The server logs to this command's stderr. Its stdout is closed, because the first start prints secrets, which are
 * stored in the data directory anyway.
 */
export function runServer(program: readonly string[], config: string): ForegroundServer {
  const [command, ...words] = [...program, "serve", "--config", config];
  const child = spawn(command as string, words, { stdio: ["ignore", "ignore", "inherit"] });
  const ended = once(child, "exit").then(([code]) => (typeof code === "number" ? code : 1));
  return { ended, stop: () => child.kill("SIGTERM") };
}
