/** Runs `store-process.ts` and communicates with it by lines. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

export interface StoreProcess {
  readonly pid: number;
  readonly lines: readonly string[];
  send(line: string): void;
  /** Resolves with the first line, past or future, that `wanted` accepts. */
  line(wanted: (line: string, count: number) => boolean): Promise<string>;
  kill(): Promise<void>;
}

/**
 * @param wrap a shell line that runs the process as `"$@"`
 * @param more additional arguments
 */
export async function startStoreProcess(
  url: string,
  wrap = 'exec "$@"',
  ...more: readonly string[]
): Promise<StoreProcess> {
  const script = fileURLToPath(new URL("store-process.ts", import.meta.url));
  const child = spawn("sh", ["-c", wrap, "sh", process.execPath, script, url, ...more], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines: string[] = [];
  const watchers = new Set<() => void>();
  const notify = (): void => watchers.forEach((watch) => watch());
  createInterface(child.stdout).on("line", (line) => {
    lines.push(line);
    notify();
  });
  const ended = once(child, "close").then(notify);
  child.stdin.on("error", () => undefined);
  const line: StoreProcess["line"] = (wanted) =>
    new Promise((resolve, reject) => {
      let seen = 0;
      const watch = (): void => {
        for (; seen < lines.length; seen += 1) {
          if (!wanted(lines[seen] as string, seen + 1)) continue;
          watchers.delete(watch);
          resolve(lines[seen] as string);
          return;
        }
        if (child.exitCode !== null || child.signalCode !== null) {
          watchers.delete(watch);
          reject(new Error(`the process ended: ${lines.slice(-3).join("; ")}`));
        }
      };
      watchers.add(watch);
      watch();
    });
  await line((text) => text === "open" || text.startsWith("failed"));
  return {
    pid: child.pid as number,
    lines,
    send: (text) => void child.stdin.write(`${text}\n`),
    line,
    async kill() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}
