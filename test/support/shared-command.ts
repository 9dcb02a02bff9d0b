/**
 * The command line in a process that many commands share, one after another. A new process takes longer than most
 * commands. Suits commands that end and leave nothing behind. Use `command.ts` for signals, standard input and child
 * processes.
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

/** Runs `postern ARGS` until it ends. Its environment is that of `runCommand`, without the test's environment. */
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

/** The host ends with this process, because the line between them closes. */
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

/** Keeps this process alive while a test waits for a command. The host alone does not keep it alive. */
function hold(child: ChildProcess, isHeld: boolean): void {
  const end = isHeld ? "ref" : "unref";
  child[end]();
  child.channel?.[end]();
}
