/** The public MCP client, connected to `/mcp` of a server, or to `postern mcp` on standard input and output. */
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import type { ElicitResult } from "@modelcontextprotocol/sdk/types.js";
import { commandEnvironment, root } from "./command.ts";

export interface McpAnswer {
  readonly text: string;
  readonly isError: boolean;
}

export interface TestMcpClient {
  readonly client: Client;
  /** Messages of the questions that the server asked. */
  readonly questions: readonly string[];
  /** Names of the offered tools. */
  toolNames(): Promise<readonly string[]>;
  call(name: string, input?: Record<string, unknown>): Promise<McpAnswer>;
  /** As `call`, but fails the test if the tool failed. */
  ok(name: string, input?: Record<string, unknown>): Promise<string>;
  close(): Promise<void>;
}

export interface McpClientOptions {
  readonly name?: string;
  /** Answers to questions. Without it, the client cannot ask its user. */
  readonly answer?: (message: string) => ElicitResult;
}

/** @param url of `/mcp` */
export function connectMcp(url: string, key: string, options: McpClientOptions = {}): Promise<TestMcpClient> {
  const requestInit = { headers: { authorization: `Bearer ${key}` } };
  return connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }) as Transport, options);
}

/** @param args of `postern mcp` */
export function startMcpCommand(args: readonly string[], options: McpClientOptions = {}): Promise<TestMcpClient> {
  const command = { command: process.execPath, args: ["bin/postern.js", "mcp", ...args], cwd: root };
  return connect(new StdioClientTransport({ ...command, env: commandEnvironment() }), options);
}

type Transport = Parameters<Client["connect"]>[0];

async function connect(
  transport: Transport,
  { name = "test client", answer }: McpClientOptions,
): Promise<TestMcpClient> {
  const client = new Client({ name, version: "1.2.3" }, { capabilities: answer ? { elicitation: {} } : {} });
  const questions: string[] = [];
  if (answer) {
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
      questions.push(params.message);
      return answer(params.message);
    });
  }
  await client.connect(transport);
  const call: TestMcpClient["call"] = async (tool, input = {}) => {
    const { content, isError } = await client.callTool({ name: tool, arguments: input });
    const [first] = content as readonly { readonly text: string }[];
    return { text: first?.text ?? "", isError: isError === true };
  };
  return {
    client,
    questions,
    toolNames: async () => (await client.listTools()).tools.map((tool) => tool.name),
    call,
    async ok(tool, input) {
      const { text, isError } = await call(tool, input);
      assert.ok(!isError, `${tool}: ${text}`);
      return text;
    },
    close: () => client.close(),
  };
}

/** Returns the plan's hash in the answer of a tool. */
export function planIn(text: string): string {
  const [, hash] = /^Plan ([0-9a-f]{32})/.exec(text) ?? [];
  assert.ok(hash !== undefined, text);
  return hash;
}
