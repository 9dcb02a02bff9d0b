/** The process of `shared-command.ts`: runs command lines one after another and reports how each one ended. */
import { urlOf } from "../../bin/bundled.ts";
import type { runCommandLine as runCommandLineOf } from "../../src/cli/command-line.ts";

/** One command line, with everything that a separate process would receive. */
export interface CommandAsked {
  readonly id: number;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

export interface CommandEnded {
  readonly id: number;
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Like users, starts from the bundle if the bundle is up to date with the sources. */
const { runCommandLine } = (await import(urlOf("src/cli/command-line.ts"))) as {
  readonly runCommandLine: typeof runCommandLineOf;
};

const written = { stdout: "", stderr: "" };
for (const name of ["stdout", "stderr"] as const) {
  process[name].write = (bytes: string | Uint8Array, ...more: readonly unknown[]) => {
    written[name] += typeof bytes === "string" ? bytes : Buffer.from(bytes).toString();
    const done = more.at(-1);
    if (typeof done === "function") process.nextTick(done);
    return true;
  };
}

let last = Promise.resolve();
process.on("message", (asked: CommandAsked) => {
  last = last.then(() => run(asked));
});
process.once("disconnect", () => process.exit(0));

async function run({ id, args, cwd, env }: CommandAsked): Promise<void> {
  process.chdir(cwd);
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, env);
  Object.assign(written, { stdout: "", stderr: "" });
  const code = await runCommandLine(args);
  const ended: CommandEnded = { id, code, ...written };
  process.send?.(ended);
}
