/** A real terminal: tmux, in which a shell runs what is typed. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { eventually } from "./eventually.ts";

const run = promisify(execFile);

/** Each look is a process: more often, and what is looked at would hardly get on. */
const lookEveryMs = 100;

export interface Tmux {
  /** Types a line, and Enter. */
  type(line: string): Promise<void>;
  /** Presses keys, as tmux names them. */
  press(...keys: string[]): Promise<void>;
  resize(columns: number, rows: number): Promise<void>;
  /** What is seen, with colours. */
  seen(): Promise<string>;
  /** Resolves with what is seen when it fits; rejects when it does not within a minute. */
  until(fits: (seen: string) => boolean): Promise<string>;
  stop(): Promise<void>;
}

/** @param env of the shell, besides what a shell needs */
export async function startTmux(columns: number, rows: number, env: Readonly<Record<string, string>>): Promise<Tmux> {
  const directory = mkdtempSync(join(tmpdir(), "postern-tmux-"));
  const socket = join(directory, "tmux");
  const surroundings = { PATH: process.env["PATH"], HOME: directory, TERM: "xterm-256color", LANG: "C.UTF-8", ...env };
  const tmux = async (...args: string[]): Promise<string> =>
    (await run("tmux", ["-S", socket, "-f", "/dev/null", ...args], { env: surroundings })).stdout;
  const size = (x: number, y: number): string[] => ["-x", String(x), "-y", String(y)];
  await tmux("new-session", "-d", ...size(columns, rows), "env", "PS1=$ ", "sh");
  const seen = (): Promise<string> => tmux("capture-pane", "-p", "-e");
  // What is typed before the shell asks for it would be shown before its prompt.
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
