/** The command line in a separate process, started as a user would start it. */
import { spawn, spawnSync } from "node:child_process";
import type { ChildProcess, SpawnOptions } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../../", import.meta.url));

/** Returns a Node that Postern does not support, if this machine has one. */
export function findOldNode(): string | undefined {
  return (process.env["PATH"] ?? "")
    .split(delimiter)
    .concat("/usr/bin")
    .map((directory) => join(directory, "node"))
    .find((node) => existsSync(node) && majorOf(node) < 24);
}

function majorOf(node: string): number {
  return Number.parseInt(spawnSync(node, ["-p", "process.versions.node"], { encoding: "utf8" }).stdout, 10);
}

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly process: ChildProcess;
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** Resolves with the first whole line on stdout. Rejects if the process ends first. */
  firstLine(): Promise<string>;
  /** Sends a signal and waits for the process to end. */
  end(signal?: NodeJS.Signals): Promise<Finished>;
  finished: Promise<Finished>;
}

/** Ports that no other process uses, without settings from the environment. */
export const freePorts = {
  POSTERN_API_LISTEN: "127.0.0.1:0",
  POSTERN_HTTPS_LISTEN: "127.0.0.1:0",
  POSTERN_AGENT_LISTEN: "127.0.0.1:0",
  POSTERN_PEER_LISTEN: "127.0.0.1:0",
};

/** Returns the environment of a command: a part of the test's environment, and `more`. */
export function commandEnvironment(more: NodeJS.ProcessEnv = {}): Record<string, string> {
  const { PATH = "", HOME = "" } = process.env;
  return { PATH, HOME, POSTERN_DRAIN_DELAY: "0", ...more } as Record<string, string>;
}

/**
 * Starts `postern ARGS`.
 * @param options `wrap`: a shell line that runs the command as `"$@"`. `checkout`: the checkout to run. Default: these
 * sources. `command`: the program and its first words, instead of a checkout.
 */
export function startCommand(
  args: readonly string[],
  options: SpawnOptions & {
    readonly node?: string;
    readonly wrap?: string;
    readonly checkout?: string;
    readonly command?: readonly string[];
  } = {},
): Running {
  const { node = process.execPath, wrap, checkout = root, env, command, ...rest } = options;
  const words = [...(command ?? [node, join(checkout, "bin/postern.js")]), ...args];
  const [program, given] =
    wrap === undefined ? [words[0] ?? node, words.slice(1)] : ["sh", ["-c", wrap, "sh", ...words]];
  const child = spawn(program, given, {
    cwd: checkout,
    stdio: ["ignore", "pipe", "pipe"],
    ...rest,
    env: commandEnvironment(env),
  });
  let stdout = "";
  let stderr = "";
  child.stdout?.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr?.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  const finished = once(child, "close").then(([code]) => ({ code: code as number | null, stdout, stderr }));
  return {
    process: child,
    stdout: () => stdout,
    stderr: () => stderr,
    async firstLine() {
      while (!stdout.includes("\n")) {
        const end = await Promise.race([once(child.stdout as NonNullable<typeof child.stdout>, "data"), finished]);
        if ("code" in end) throw new Error(`it ended with ${end.code}: ${end.stderr}`);
      }
      return stdout.slice(0, stdout.indexOf("\n"));
    },
    async end(signal = "SIGTERM") {
      child.kill(signal);
      return await finished;
    },
    finished,
  };
}

/** Runs `postern ARGS` until it ends. */
export async function runCommand(
  args: readonly string[],
  options: SpawnOptions & { readonly node?: string } = {},
): Promise<Finished> {
  return await startCommand(args, options).finished;
}
