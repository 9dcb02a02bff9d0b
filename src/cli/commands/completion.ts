import { apiCommand, wordsOf } from "./api.ts";
import { resourceVerbs } from "../api/packed-description.ts";
import { defineCommand } from "../command/command.ts";
import type { Command, CommandEntry } from "../command/command.ts";
import { renderBash, renderFish, renderZsh } from "../terminal/completion-scripts.ts";
import type { Candidates } from "../terminal/completion-scripts.ts";
import { Failure, exitCodes } from "../process/exit.ts";
import { flagOf } from "../../settings/setting.ts";

const scripts: Readonly<Record<string, (candidates: Candidates) => string>> = {
  bash: renderBash,
  zsh: renderZsh,
  fish: renderFish,
};

/** @param commands all commands */
export function completionOf(commands: Readonly<Record<string, CommandEntry>>): Command {
  return defineCommand({
    name: "completion",
    doc: "Print a shell script that completes commands, resources, verbs and options.",
    operands: "bash|zsh|fish",
    least: 1,
    most: 1,
    settings: {},
    examples: [
      'eval "$(postern completion bash)"',
      "postern completion zsh > ~/.zfunc/_postern",
      "postern completion fish > ~/.config/fish/completions/postern.fish",
    ],
    async run(_values, [shell = ""]) {
      const render = Object.hasOwn(scripts, shell) ? scripts[shell] : undefined;
      if (!render) throw new Failure("usage", `no completion for "${shell}": choose bash, zsh or fish`);
      process.stdout.write(render(await collectCandidates(commands)));
      return exitCodes.fine;
    },
  }) as Command;
}

/** Returns the words that may follow each sequence of words. The empty sequence is ``. */
async function collectCandidates(commands: Readonly<Record<string, CommandEntry>>): Promise<Candidates> {
  const found = new Map<string, readonly string[]>();
  const names = Object.keys(commands);
  found.set("", [...new Set([...names.map((name) => name.split(" ")[0] as string), "help"])]);
  for (const name of names) {
    const [first, second] = name.split(" ");
    if (second !== undefined) found.set(first as string, [...(found.get(first as string) ?? []), second]);
    if (name === "api") continue;
    const command = await commands[name]?.load([]);
    if (command) found.set(name, [...listChoices(command.operands), ...flagsOf(command)]);
  }
  const resources = resourceVerbs();
  const roots = (resources.get("") ?? []).map(({ verb }) => verb);
  found.set("api", [...[...resources.keys()].filter((name) => name !== ""), ...roots]);
  for (const [resource, operations] of resources) {
    if (resource !== "")
      found.set(
        `api ${resource}`,
        operations.map(({ verb }) => verb),
      );
    for (const operation of operations) {
      const words = wordsOf(operation);
      found.set(`api ${words}`, flagsOf(apiCommand(words.split(" "))));
    }
  }
  return found;
}

function flagsOf({ settings }: Command): string[] {
  const flags = Object.entries(settings).flatMap(([name, setting]) => {
    const flag = flagOf(name, setting);
    const values = listChoices(setting.placeholder ?? "").map((value) => `${flag}=${value}`);
    return [flag, ...(setting.secret ? [`${flag}-file`] : []), ...values];
  });
  return [...flags, "--help"];
}

/** Returns the values that a placeholder lists. */
function listChoices(placeholder: string): string[] {
  return /^[a-z0-9_.:-]+(\|[a-z0-9_.:-]+)+$/i.test(placeholder) && placeholder !== placeholder.toUpperCase()
    ? placeholder.split("|")
    : [];
}
