import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { fileToChange } from "../agent-files/default-file.ts";
import { writeAgentFile } from "../agent-files/edit.ts";
import { readAgentFiles, renderIssue } from "../agent-files/read-agent-files.ts";
import { agentConfig } from "../agent/agent-access.ts";
import { fileTunnels } from "../agent/file-tunnels.ts";
import { defineCommand } from "../command/command.ts";
import { exitCodes, Failure } from "../process/exit.ts";

const beginning =
  "# Services that this agent publishes: `postern start NAME`, or `postern start --all`.\n# server: t.example.com:4443\n# authtoken: …\ntunnels:\n  # web:\n  #   proto: http\n  #   addr: 3000\n";

export const configEdit = defineCommand({
  name: "config edit",
  doc: "Open the agent file in the editor from VISUAL or EDITOR, and then print its errors.",
  operands: "",
  least: 0,
  most: 0,
  settings: { files: agentConfig },
  examples: ["EDITOR=nano postern config edit"],
  async run({ files: given }) {
    const path = fileToChange(given, process.env);
    if (!existsSync(path)) writeAgentFile(path, beginning);
    const editor = process.env["VISUAL"] ?? process.env["EDITOR"] ?? (process.platform === "win32" ? "notepad" : "vi");
    await openEditor(editor, path);
    const { issues } = fileTunnels(readAgentFiles([path]));
    for (const issue of issues) process.stdout.write(`${renderIssue(issue)}\n`);
    return issues.length === 0 ? exitCodes.fine : exitCodes.usage;
  },
});

/** The editor's command may include options. */
async function openEditor(editor: string, path: string): Promise<void> {
  const [program = "", ...options] = editor.split(" ").filter((word) => word !== "");
  const child = spawn(program, [...options, path], { stdio: "inherit" });
  let code: unknown;
  try {
    [code] = (await once(child, "close")) as [number | null];
  } catch (error) {
    throw new Failure("usage", `cannot start the editor "${editor}": set another one with EDITOR`, { cause: error });
  }
  if (code !== 0) throw new Failure("usage", `the editor "${editor}" exited with ${String(code)}`);
}
