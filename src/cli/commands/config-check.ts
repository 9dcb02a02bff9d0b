import { agentFilesOf, defaultAgentFile } from "../agent-files/default-file.ts";
import { readAgentFiles, renderIssue } from "../agent-files/read-agent-files.ts";
import type { FileFormat } from "../agent-files/read-agent-files.ts";
import { agentConfig } from "../agent/agent-access.ts";
import { fileTunnels } from "../agent/file-tunnels.ts";
import { defineCommand } from "../command/command.ts";
import { exitCodes, Failure } from "../process/exit.ts";
import { settings } from "../../settings/settings.ts";

export const configCheck = defineCommand({
  name: "config check",
  doc: "Print the path of the agent file and its errors, with line and column. Exits with code 2 if there are errors.",
  operands: "",
  least: 0,
  most: 0,
  settings: { files: agentConfig, json: settings.json },
  examples: ["postern config check", "postern config check --config ngrok.yml"],
  run({ files: given, json }) {
    const paths = agentFilesOf(given, process.env);
    if (paths.length === 0) {
      const path = defaultAgentFile(process.env);
      throw new Failure("usage", `no file "${path}": create it, or set another file with --config`);
    }
    const files = readAgentFiles(paths);
    const { tunnels, issues } = fileTunnels(files);
    const { warnings } = files;
    if (json) {
      const formats = files.formats.map(([path, format]) => ({ path, format: String(format) }));
      process.stdout.write(
        `${JSON.stringify({ files: formats, tunnels: tunnels.map(({ name }) => name), issues, warnings })}\n`,
      );
    } else {
      for (const warning of warnings) process.stdout.write(`${renderIssue(warning)}\n`);
      for (const issue of issues) process.stdout.write(`${renderIssue(issue)}\n`);
      for (const [path, format] of files.formats) process.stdout.write(`${path} is ${describeFormat(format)}\n`);
      if (issues.length === 0) process.stdout.write(`no errors, tunnels: ${listNames(tunnels)}\n`);
    }
    return Promise.resolve(issues.length === 0 ? exitCodes.fine : exitCodes.usage);
  },
});

function describeFormat(format: FileFormat): string {
  return format === "own" ? "in Postern's own format" : `an ngrok file of version ${format}`;
}

function listNames(tunnels: readonly { readonly name: string }[]): string {
  return tunnels.map(({ name }) => name).join(", ") || "none";
}
