/** A real MCP server on standard input and output, run as a process. Its tools misbehave on request. */
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { writeSync } from "node:fs";

if (process.argv.includes("--dies")) process.exit(3);
writeSync(1, "starting, this is no JSON\n");
writeSync(2, `started with${process.env["POSTERN_AUTHTOKEN"] === undefined ? "out" : ""} a token\n`);

let calls = 0;
const server = new McpServer({ name: "stdio", version: "1.0.0" }, { capabilities: { logging: {} } });
const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });
server.registerTool("count", { description: "Counts the calls of this process" }, () => {
  calls += 1;
  return text(`${process.pid} ${calls}`);
});
server.registerTool("crash", { description: "Ends the process" }, () => process.exit(7));
server.registerTool("hang", { description: "Never answers" }, () => new Promise(() => {}));
server.registerTool("flood", { description: "Writes a line without an end" }, () => {
  const piece = "x".repeat(1_048_576);
  for (let at = 0; at < 64; at += 1) process.stdout.write(piece);
  return text("flooded");
});
server.registerTool("progress", { description: "Reports progress" }, async ({ _meta, sendNotification }) => {
  for (const progress of [1, 2]) {
    await sendNotification({
      method: "notifications/progress",
      params: { progressToken: _meta?.progressToken ?? 0, progress, total: 2 },
    });
  }
  return text("done");
});
await server.connect(new StdioServerTransport() as unknown as Parameters<typeof server.connect>[0]);
