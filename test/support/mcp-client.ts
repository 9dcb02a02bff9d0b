/** The public MCP client: with an API key, with a person who logs in, and with `postern mcp` on standard input and output. */
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import type { OAuthClientProvider } from "@modelcontextprotocol/sdk/client/auth.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { OAuthClientInformationMixed, OAuthTokens } from "@modelcontextprotocol/sdk/shared/auth.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import type { ElicitResult } from "@modelcontextprotocol/sdk/types.js";
import type { Browser } from "./browser.ts";
import { commandEnvironment, root } from "./command.ts";
import type { Fetch } from "./local-fetch.ts";
import { decide, logIn, redirectUri } from "./oauth-client.ts";

/** What a client stores between its requests. */
export class ClientStore implements OAuthClientProvider {
  readonly redirectUrl: string;
  readonly clientMetadata;
  opened: URL | undefined;
  #client: OAuthClientInformationMixed | undefined;
  #tokens: OAuthTokens | undefined;
  #verifier = "";

  constructor(redirectUrl = redirectUri) {
    this.redirectUrl = redirectUrl;
    this.clientMetadata = {
      client_name: "SDK client",
      redirect_uris: [redirectUrl],
      token_endpoint_auth_method: "none",
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
    };
  }
  clientInformation = () => this.#client;
  saveClientInformation = (client: OAuthClientInformationMixed) => void (this.#client = client);
  tokens = () => this.#tokens;
  saveTokens = (tokens: OAuthTokens) => void (this.#tokens = tokens);
  redirectToAuthorization = (url: URL) => void (this.opened = url);
  saveCodeVerifier = (verifier: string) => void (this.#verifier = verifier);
  codeVerifier = () => this.#verifier;
  invalidateCredentials = () => void (this.#tokens = undefined);
}

/** Logs in at the development provider as the person with this id, and allows the client. Returns the code. */
export async function allowAtDevProvider(browser: Browser, url: string, person: string): Promise<string> {
  const page = await logIn(browser, url);
  const request = /name="request" value="([^"]+)"/.exec(page.text)?.[1] ?? "";
  const signed = await browser.visit(new URL("/sign-in", page.url).href, {
    method: "POST",
    body: new URLSearchParams({ request, person }).toString(),
    headers: { origin: new URL(page.url).origin },
    stop: (next) => next.startsWith(redirectUri),
  });
  const back = signed.status === 200 ? await decide(browser, signed, "allow") : signed;
  const location = back.headers.location;
  if (location === undefined) throw new Error(`no redirect to the client: ${back.status} ${back.text}`);
  return new URL(location).searchParams.get("code") ?? "";
}

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

export interface ConnectOptions extends McpClientOptions {
  /** Default: Streamable HTTP. */
  readonly transport?: "http" | "sse";
  readonly fetch?: Fetch;
  readonly key?: string;
  /** Logs a person in at the URL that the client opens, and returns the code. */
  readonly confirm?: (url: string) => Promise<string>;
}

type Transport = Parameters<Client["connect"]>[0];

/** Connects as an application does: with the key, or with a login if the server wants one. */
export async function connectMcp(url: string, options: ConnectOptions = {}): Promise<TestMcpClient> {
  const { transport = "http", fetch, key, confirm } = options;
  const store = new ClientStore();
  const make = () => {
    const shared = {
      ...(fetch && { fetch }),
      ...(confirm && { authProvider: store }),
      ...(key !== undefined && { requestInit: { headers: { authorization: `Bearer ${key}` } } }),
    };
    return transport === "sse"
      ? new SSEClientTransport(new URL(url), shared)
      : new StreamableHTTPClientTransport(new URL(url), shared);
  };
  const first = make();
  try {
    return await connect(first as Transport, options);
  } catch (error) {
    if (!confirm || !(error instanceof UnauthorizedError)) throw error;
  }
  await first.finishAuth(await confirm(String(store.opened)));
  return await connect(make() as Transport, options);
}

/** @param args of `postern mcp` */
export function startMcpCommand(args: readonly string[], options: McpClientOptions = {}): Promise<TestMcpClient> {
  const command = { command: process.execPath, args: ["bin/postern.js", "mcp", ...args], cwd: root };
  return connect(new StdioClientTransport({ ...command, env: commandEnvironment() }), options);
}

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
    const result = await client.callTool({ name: tool, arguments: input });
    return { text: toolText(result), isError: result.isError === true };
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

/** The text of a tool's result, of any version of the client. */
export function toolText(result: unknown): string {
  return (result as { readonly content: readonly { readonly text?: string }[] }).content[0]?.text ?? "";
}

/** Returns the plan's hash in the answer of a tool. */
export function planIn(text: string): string {
  const [, hash] = /^Plan ([0-9a-f]{32})/.exec(text) ?? [];
  assert.ok(hash !== undefined, text);
  return hash;
}
