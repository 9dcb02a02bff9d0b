import type { Command, CommandEntry } from "./command/command.ts";
import { commands } from "./commands.ts";
import { Failure, exitCodes } from "./process/exit.ts";
import { guardOutput } from "./terminal/guarded-output.ts";
import { fixOf } from "../lib/errors.ts";
import { findNearest } from "../lib/nearest.ts";
import { readSettings } from "./settings/read-settings.ts";
import { settings } from "../settings/settings.ts";

/**
 * Runs the command that `args` name and returns the exit code. Prints refusals as one sentence and unexpected errors
 * with their stack. With `--json`, prints both as JSON.
 */
export async function runCommandLine(args: readonly string[]): Promise<number> {
  const release = guardOutput();
  try {
    return await runArguments(args);
  } catch (error) {
    const failure =
      error instanceof Failure ? error : new Failure("unexpected", `unexpected: ${String(error)}`, { cause: error });
    if (asksForJson(args)) process.stderr.write(`${JSON.stringify({ error: renderFailure(failure) })}\n`);
    else {
      const isForeseen = failure === error;
      const said = isForeseen || !(error instanceof Error) ? failure.message : `unexpected: ${error.stack}`;
      process.stderr.write(`postern: ${said}\n`);
    }
    return failure.exitCode;
  } finally {
    release();
  }
}

/** Called before the settings are read, because the settings may be wrong. */
function asksForJson(args: readonly string[]): boolean {
  const end = args.indexOf("--");
  return process.env["POSTERN_JSON"] === "true" || args.slice(0, end < 0 ? args.length : end).includes("--json");
}

function renderFailure({ code, exitCode, message }: Failure): object {
  return { code, exit_code: exitCode, message, fix: fixOf(code) };
}

async function runArguments(args: readonly string[]): Promise<number> {
  const [first] = args;
  if (first === undefined) {
    await printHelp([]);
    return exitCodes.usage;
  }
  if (first === "help" || first === "--help" || first === "-h") return await printHelp(args.slice(1));
  const asksForHelp = args.some((one) => one === "--help" || one === "-h");
  if (asksForHelp && args.length === 2 && membersOf(first).length > 0) return await printHelp([first]);
  const { command, rest } = await findCommand(first === "--version" ? ["version"] : args);
  if (rest.some((one) => one === "--help" || one === "-h")) return await printHelpOf(command);
  const { values, positionals } = await readSettings(command.settings, {
    args: rest,
    env: process.env,
    command: command.name,
    known: settings,
  });
  if (positionals.length < command.least || positionals.length > command.most) {
    const wanted = command.operands === "" ? "no arguments" : command.operands;
    throw new Failure("usage", `\`postern ${command.name}\` takes ${wanted}, see \`postern ${command.name} --help\``);
  }
  return await command.run(values, positionals);
}

/** Returns the command with the longest name that `args` begin with. */
async function findCommand(
  args: readonly string[],
): Promise<{ readonly command: Command; readonly rest: readonly string[] }> {
  for (const words of [2, 1]) {
    const entry = Object.hasOwn(commands, args.slice(0, words).join(" ")) && commands[args.slice(0, words).join(" ")];
    if (!entry || args.length < words) continue;
    const rest = args.slice(words);
    const command = await entry.load(rest);
    return { command, rest: rest.slice(command.taken ?? 0) };
  }
  const [given = "", second = ""] = args;
  const members = membersOf(given);
  if (members.length > 0) {
    const words = members.map(([name]) => name).join(", ");
    const what = second === "" || second.startsWith("-") ? "" : `no "${second}", but `;
    throw new Failure("usage", `\`postern ${given}\` takes ${what}one of ${words}`);
  }
  const near = findNearest(given, Object.keys(commands));
  const meant = near === undefined ? "" : ` (did you mean "${near}"?)`;
  throw new Failure("usage", `unknown command "${given}"${meant}: \`postern help\` lists all commands`);
}

/** Returns the commands of two words that begin with `group`, by their second words. */
function membersOf(group: string): (readonly [name: string, entry: CommandEntry])[] {
  const start = `${group} `;
  return Object.entries(commands).flatMap(([name, entry]) =>
    name.startsWith(start) ? [[name.slice(start.length), entry] as const] : [],
  );
}

async function printHelp(args: readonly string[]): Promise<number> {
  const words = args.filter((one) => !one.startsWith("-"));
  const [group = ""] = words;
  const members = membersOf(group);
  if (words.length === 1 && members.length > 0 && !Object.hasOwn(commands, group)) {
    const { renderGroup } = await import("./command/help.ts");
    process.stdout.write(renderGroup(group, Object.fromEntries(members)));
    return exitCodes.fine;
  }
  if (words.length > 0) return await printHelpOf((await findCommand(words)).command);
  const { renderOverview } = await import("./command/help.ts");
  process.stdout.write(renderOverview(commands));
  return exitCodes.fine;
}

async function printHelpOf(command: Command): Promise<number> {
  const { renderHelp } = await import("./command/help.ts");
  process.stdout.write(renderHelp(command));
  return exitCodes.fine;
}
