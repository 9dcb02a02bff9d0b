import { existsSync } from "node:fs";
import { fileToChange } from "../agent-files/default-file.ts";
import { readAgentText, writeAgentFile } from "../agent-files/edit.ts";
import { withoutSecrets } from "../agent-files/hidden-secrets.ts";
import { lineDiff } from "../agent-files/line-diff.ts";
import { readAgentFiles, renderIssue } from "../agent-files/read-agent-files.ts";
import type { FileFormat } from "../agent-files/read-agent-files.ts";
import { upgradeText } from "../agent-files/upgrade-file.ts";
import { agentConfig } from "../agent/agent-access.ts";
import { fileTunnels } from "../agent/file-tunnels.ts";
import { defineCommand } from "../command/command.ts";
import { exitCodes, Failure, failOnError } from "../process/exit.ts";
import { flagOnly, toggle } from "../../settings/setting.ts";

export const configUpgrade = defineCommand({
  name: "config upgrade",
  doc: "Convert an ngrok file to Postern's own format, or from version 2 to version 3. Comments are kept. Prints the changes, and keeps a copy of the old file next to the new one.",
  operands: "[own|3]",
  least: 0,
  most: 1,
  settings: { files: agentConfig, dryRun: flagOnly(toggle("Print the changes without writing the file.")) },
  examples: ["postern config upgrade --config ngrok.yml --dry-run", "postern config upgrade 3 --config ngrok.yml"],
  run({ files: given, dryRun }, [operand = "own"]) {
    if (operand !== "own" && operand !== "3") throw new Failure("usage", `"${operand}" must be own or 3`);
    const path = fileToChange(given, process.env);
    const files = readAgentFiles([path]);
    const { issues } = fileTunnels(files);
    if (issues.length > 0) {
      throw new Failure("usage", `correct these errors first:\n${issues.map(renderIssue).join("\n")}`);
    }
    const from = files.formats[0]?.[1] as FileFormat;
    const before = readAgentText(path);
    const after = failOnError(`"${path}"`, () => upgradeText(before, from, operand === "3" ? 3 : "own"));
    process.stdout.write(withoutSecrets(lineDiff(before, after)));
    if (dryRun) return Promise.resolve(exitCodes.fine);
    const backup = freeName(`${path}.${from}.bak`);
    writeAgentFile(backup, before);
    writeAgentFile(path, after);
    process.stdout.write(`copied the old file to ${backup}\n`);
    return Promise.resolve(exitCodes.fine);
  },
});

function freeName(path: string): string {
  let name = path;
  for (let at = 2; existsSync(name); at += 1) name = `${path}.${at}`;
  return name;
}
