import { apiSettings, placeOf } from "../api/api-client.ts";
import { defineCommand } from "../command/command.ts";
import { bridgeMcp } from "../mcp/mcp-bridge.ts";
import { exitCodes } from "../process/exit.ts";
import { flagOnly, toggle } from "../../settings/setting.ts";

export const mcp = defineCommand({
  name: "mcp",
  doc: "Let an assistant inspect the server: an MCP server on standard input and output. It cannot change anything unless you allow it.",
  operands: "",
  least: 0,
  most: 0,
  settings: {
    ...apiSettings,
    allowChanges: flagOnly(toggle("Let the assistant apply plans. The API key must be allowed to write.")),
  },
  examples: ["postern mcp", "postern mcp --allow-changes", "claude mcp add postern -- postern mcp"],
  async run({ allowChanges, ...access }) {
    const { baseUrl, apiKey = "" } = await placeOf(access);
    const url = new URL(`${baseUrl.replace(/\/$/, "")}/mcp`);
    if (!allowChanges) url.searchParams.set("read_only", "true");
    if (process.stdin.isTTY) {
      process.stderr.write(
        "postern mcp: waits for an assistant on standard input. To add it to Claude Code: claude mcp add postern -- postern mcp\n",
      );
    }
    await bridgeMcp({ url, apiKey, input: process.stdin, output: process.stdout, diagnostics: process.stderr });
    return exitCodes.fine;
  },
});
