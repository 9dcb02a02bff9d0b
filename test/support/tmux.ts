/** A real terminal: tmux with a shell that runs what the test types. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { eventually } from "./eventually.ts";

const run = promisify(execFile);

/** Each check starts a process. More frequent checks would slow the checked program down. */
const lookEveryMs = 100;

export interface Tmux {
  /** Types a line and Enter. */
  type(line: string): Promise<void>;
  /** Presses keys, by their names in tmux. */
  press(...keys: string[]): Promise<void>;
  resize(columns: number, rows: number): Promise<void>;
  /** Returns the visible text, with colours. */
  seen(): Promise<string>;
  /** Resolves with the visible text when it matches; rejects after a minute. */
  until(fits: (seen: string) => boolean): Promise<string>;
  stop(): Promise<void>;
}

/** @param env additional environment of the shell */
export async function startTmux(columns: number, rows: number, env: Readonly<Record<string, string>>): Promise<Tmux> {
  const directory = mkdtempSync(join(tmpdir(), "postern-tmux-"));
  const socket = join(directory, "tmux");
  const surroundings = { PATH: process.env["PATH"], HOME: directory, TERM: "xterm-256color", LANG: "C.UTF-8", ...env };
  const tmux = async (...args: string[]): Promise<string> =>
    (await run("tmux", ["-S", socket, "-f", "/dev/null", ...args], { env: surroundings })).stdout;
  const size = (x: number, y: number): string[] => ["-x", String(x), "-y", String(y)];
  await tmux("new-session", "-d", ...size(columns, rows), "env", "PS1=$ ", "sh");
  const seen = (): Promise<string> => tmux("capture-pane", "-p", "-e");
  // Text typed before the shell is ready would appear before its prompt.
  await eventually(seen, (text) => text.startsWith("$"), lookEveryMs);
  return {
    seen,
    async type(line) {
      await tmux("send-keys", "-l", line);
      await tmux("send-keys", "Enter");
    },
    press: async (...keys) => void (await tmux("send-keys", ...keys)),
    resize: async (x, y) => void (await tmux("resize-window", ...size(x, y))),
    async until(fits) {
      const found = await eventually(seen, fits, lookEveryMs);
      if (!fits(found)) throw new Error(`the terminal shows something else: ${found}`);
      return found;
    },
    async stop() {
      await tmux("kill-server").catch(() => {});
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
