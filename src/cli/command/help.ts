import { styleFor } from "../terminal/guarded-output.ts";
import { flagOf, keyOf, shownValue, variableOf } from "../../settings/setting.ts";
import type { Setting } from "../../settings/setting.ts";
import type { Command, CommandEntry } from "./command.ts";

/** Width of the help text, columns. */
const width = 100;

type Entries = Readonly<Record<string, CommandEntry>>;

/** Returns the text of `postern help`. */
export function renderOverview(commands: Entries): string {
  return [
    "Postern publishes local services through a server, and one API controls access.",
    "",
    "Usage: postern COMMAND [OPTIONS]",
    "",
    ...commandLines([...Object.entries(commands).map(([name, { doc }]) => [name, doc] as const), helpRow]),
    "",
    "Run `postern COMMAND --help` for the options of a command. Start with `postern dev`.",
    "",
  ].join("\n");
}

/** Returns the text of `postern GROUP --help`, for commands with two words. */
export function renderGroup(group: string, commands: Entries): string {
  return [
    `Usage: postern ${group} COMMAND [OPTIONS]`,
    "",
    ...commandLines(Object.entries(commands).map(([name, { doc }]) => [name, doc] as const)),
    "",
    `Run \`postern ${group} COMMAND --help\` for the options of a command.`,
    "",
  ].join("\n");
}

function commandLines(rows: readonly (readonly [name: string, doc: string])[]): string[] {
  const column = Math.max(...rows.map(([name]) => name.length)) + 3;
  return rows.map(([name, doc]) => `  ${toBold(name)}${" ".repeat(column - name.length)}${doc}`);
}

const helpRow = ["help", "Print this list, or the help of one command."] as const;

/** Returns the text of `postern COMMAND --help`. */
export function renderHelp(command: Command): string {
  const operands = command.operands === "" ? "" : ` ${command.operands}`;
  return [
    `Usage: postern ${command.name} [OPTIONS]${operands}`,
    "",
    ...wrapText(command.doc, ""),
    "",
    ...Object.entries(command.settings).flatMap(([name, setting]) => [renderSetting(name, setting), ""]),
    ...(command.notes ? [...command.notes, ""] : []),
    ...(command.examples ? ["Examples:", ...command.examples.map((line) => `  ${line}`), ""] : []),
    "Priority: flags, environment variables, file, default.",
    "",
  ].join("\n");
}

function renderSetting(name: string, setting: Setting<unknown>): string {
  const flag = flagOf(name, setting);
  const short = setting.short === undefined ? "" : `, ${toBold(`-${setting.short}`)}`;
  const also = (setting.also ?? []).map((other) => `, ${toBold(`--${other}`)}`).join("");
  const usage = `${toBold(flag)}${short}${also}${shownValue(setting)}`;
  return [`  ${usage}`, ...[setting.doc, sourcesOf(name, setting)].flatMap((text) => wrapText(text, "      "))].join(
    "\n",
  );
}

/** Returns the other sources of the value. */
function sourcesOf(name: string, setting: Setting<unknown>): string {
  const flag = flagOf(name, setting);
  if (setting.flagOnly) return setting.secret ? `[also from a file: ${flag}-file]` : "";
  const secret = setting.secret ? `; also from a file: ${flag}-file, ${variableOf(name, setting)}_FILE` : "";
  const fallback = setting.shownDefault === undefined ? "" : `default ${setting.shownDefault}; `;
  return `[${fallback}${variableOf(name, setting)}, ${keyOf(name)}${secret}]`;
}

function wrapText(text: string, indent: string): string[] {
  if (text === "") return [];
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && indent.length + line.length + 1 + word.length > width) {
      lines.push(indent + line);
      line = word;
    } else {
      line = line === "" ? word : `${line} ${word}`;
    }
  }
  return [...lines, indent + line];
}

function toBold(text: string): string {
  return styleFor("bold", text, process.stdout);
}
