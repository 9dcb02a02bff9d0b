/**
 * The command line in a process that many commands share, one after another: what a command prints and answers, without
 * the start of a process for each, which takes longer than most of them. For commands that end by themselves and leave
 * nothing behind; what a process is about, such as signals, standard input and what it starts, is in `command.ts`.
 */
import { fork } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import { commandEnvironment, root } from "./command.ts";
import type { Finished } from "./command.ts";
import type { CommandAsked, CommandEnded } from "./command-host.ts";

const program = fileURLToPath(new URL("./command-host.ts", import.meta.url));

interface Host {
  readonly process: ChildProcess;
  readonly waiting: Map<number, PromiseWithResolvers<Finished>>;
}

let host: Host | undefined;
let asked = 0;

/** Runs `postern ARGS` to its end. Its environment is that of `runCommand`: nothing of the surroundings. */
export function runSharedCommand(
  args: readonly string[],
  options: { readonly cwd?: string; readonly env?: Readonly<Record<string, string>> } = {},
): Promise<Finished> {
  const { process, waiting } = (host ??= startHost());
  const ended = Promise.withResolvers<Finished>();
  asked += 1;
  waiting.set(asked, ended);
  hold(process, true);
  const call: CommandAsked = { id: asked, args, cwd: options.cwd ?? root, env: commandEnvironment(options.env) };
  process.send(call);
  return ended.promise;
}

/** It ends with this process, whatever becomes of it: the line between them closes then. */
function startHost(): Host {
  const child = fork(program, { cwd: root, stdio: ["ignore", "ignore", "inherit", "ipc"], execArgv: [] });
  const waiting: Host["waiting"] = new Map();
  child.on("message", ({ id, ...finished }: CommandEnded) => {
    waiting.get(id)?.resolve(finished);
    waiting.delete(id);
    if (waiting.size === 0) hold(child, false);
  });
  child.once("exit", (code) => {
    host = undefined;
    for (const { reject } of waiting.values()) reject(new Error(`the process of shared commands has ended: ${code}`));
  });
  return { process: child, waiting };
}

/** A test that waits for a command is to stay; the process alone keeps nothing. */
function hold(child: ChildProcess, isHeld: boolean): void {
  const end = isHeld ? "ref" : "unref";
  child[end]();
  child.channel?.[end]();
}
