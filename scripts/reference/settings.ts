/** Settings and commands, from their declarations. */
import type { Command } from "../../src/cli/command/command.ts";
import { commands } from "../../src/cli/commands.ts";
import { exitCodes } from "../../src/cli/process/exit.ts";
import { commandSettings } from "../../src/settings/commands.ts";
import { controlPlaneSettings } from "../../src/settings/control-plane.ts";
import { edgeSettings } from "../../src/settings/edge.ts";
import { placeSettings } from "../../src/settings/places.ts";
import { flagOf, keyOf, shownValue, variableOf } from "../../src/settings/setting.ts";
import type { Setting } from "../../src/settings/setting.ts";
import { settings } from "../../src/settings/settings.ts";
import { toCode, renderPage, renderTable } from "./markdown.ts";

export function settingsPage(): string {
  const rows = Object.entries(settings).map(([name, given]) => {
    const setting: Setting<unknown> = given;
    const flag = flagOf(name, setting);
    const variable = variableOf(name, setting);
    const files = setting.secret ? `; from a file: ${toCode(`${flag}-file`)}, ${toCode(`${variable}_FILE`)}` : "";
    const usage = flag + shownValue(setting);
    const cells = [toCode(usage), toCode(variable), toCode(keyOf(name)), setting.doc + files];
    return [...cells, toCode(setting.shownDefault ?? ""), readersOf(name)];
  });
  const introduction =
    "Every setting has a flag, an environment variable and a key in the YAML file of `--config`. Priority: flags, environment variables, file, default. [Commands](commands.md) lists the settings of each command.";
  return renderPage("Settings", introduction, [
    renderTable(["Flag", "Variable", "Key", "Meaning", "Default", "Read by"], rows),
  ]);
}

function readersOf(name: string): string {
  const planes = [name in controlPlaneSettings ? "control plane" : "", name in edgeSettings ? "edge" : ""];
  const start = name in placeSettings || !(name in commandSettings || planes.some(Boolean)) ? "start" : "";
  const commands = name in commandSettings ? "commands" : "";
  return [...planes, start, commands].filter(Boolean).join(", ");
}

export async function commandsPage(): Promise<string> {
  const parts: string[] = [];
  for (const [name, entry] of Object.entries(commands)) {
    const command = await entry.load([]);
    parts.push(`## \`postern ${name}\`\n\n${renderSection(command)}`);
  }
  const codes = Object.entries(exitCodes).map(([name, number]) => [
    String(number),
    exitDocs[name as keyof typeof exitCodes],
  ]);
  const refusals =
    "A failed command prints one sentence on stderr. With `--json` it prints a line of JSON: `error` with `code` (from the [catalogue](errors.md), or from the server if the server rejected the request), `exit_code`, `message` and `fix`.";
  parts.push(`## Exit codes\n\n${refusals}\n\n${renderTable(["Code", "Meaning"], codes)}`);
  return renderPage("Commands", "`postern COMMAND --help` prints the same text.", parts);
}

const exitDocs: Readonly<Record<keyof typeof exitCodes, string>> = {
  fine: "fine",
  unexpected: "unexpected",
  usage: "usage or configuration",
  credentials: "credentials refused",
  unreachable: "server unreachable",
  nameTaken: "name not available",
  upstream: "the upstream is required (`--require-upstream`) and unreachable",
  refused: "rejected by a policy or limit, or not found",
  planHasChanges: "the plan has changes",
  accessChanges: "a backtest with `--exit-code` found requests that would be newly denied or newly allowed",
  importLeftGuards: "an import left out a setting that protects something",
  warning: "warnings (`postern status`)",
  interrupted: "interrupted",
};

function renderSection(command: Command): string {
  const operands = command.operands === "" ? "" : ` ${command.operands}`;
  const rows = Object.entries(command.settings).map(([name, setting]) => {
    const flag = flagOf(name, setting);
    const usage = flag + shownValue(setting);
    return [toCode(usage), setting.doc, toCode(setting.shownDefault ?? "")];
  });
  const lines = (title: string, texts: readonly string[] | undefined): string =>
    texts && texts.length > 0 ? `${title}\n\n\`\`\`text\n${texts.join("\n")}\n\`\`\`\n\n` : "";
  return [
    `\`postern ${command.name} [OPTIONS]${operands}\`\n\n${command.doc}\n\n`,
    rows.length > 0 ? renderTable(["Option", "Meaning", "Default"], rows) : "",
    lines("Also:", command.notes),
    lines("Examples:", command.examples),
  ].join("");
}
