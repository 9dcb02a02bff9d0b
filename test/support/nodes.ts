/** Servers that share a PostgreSQL database. Each is a process with its own data directory. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { freePorts, startCommand } from "./command.ts";
import type { Finished, Running } from "./command.ts";
import { askOver } from "./http-client.ts";
import type { Asked, AskOptions, Protocol } from "./http-client.ts";
import { startOurAgent } from "./our-agent.ts";
import type { OurAgent, OurAgentOptions } from "./our-agent.ts";

const started: Running[] = [];

// A test that fails early leaves its servers running, which would keep the process alive.
after(() => Promise.all(started.map((running) => running.end("SIGKILL"))));

const apiKey = "chosen-api-key-of-all-nodes-0123456789";
const authtoken = "chosen-authtoken-of-all-nodes-0123456789";
export const sealingKey = Buffer.alloc(32, 9).toString("base64");

export interface ServerNode {
  readonly apiUrl: string;
  readonly pid: number;
  readonly httpsPort: number;
  /** Port of the agent listener, and what agents need to connect to it. */
  readonly agents: { readonly port: number; readonly ca: string; readonly token: string };
  readonly stderr: () => string;
  /** Calls the API with the body as JSON. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<NodeReply>;
  /** Resolves when the response of `path` matches `isWanted`. */
  until(path: string, isWanted: (reply: NodeReply) => boolean): Promise<NodeReply>;
  /** Sends one request of a visitor on a new connection. */
  ask(protocol: Protocol, options: AskOptions): Promise<Asked>;
  /** Connects our agent to this server. */
  agent(options: OurAgentOptions): Promise<OurAgent>;
  end(signal?: NodeJS.Signals): Promise<Finished>;
}

export interface NodeReply {
  readonly status: number;
  readonly text: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly etag: string | null;
  readonly headers: Headers;
}

/** @param keptData data directory that stays when the server ends; default: a new one, which does not */
export async function startNode(
  database: string,
  env: Record<string, string> = {},
  keptData?: string,
): Promise<ServerNode> {
  const data = keptData ?? mkdtempSync(join(tmpdir(), "postern-node-"));
  const node = await startServer(["--cluster", "--data", data], apiKey, {
    ...freePorts,
    POSTERN_DATABASE: database,
    POSTERN_SEALING_KEY: sealingKey,
    POSTERN_BOOTSTRAP_API_KEY: apiKey,
    POSTERN_BOOTSTRAP_AUTHTOKEN: authtoken,
    POSTERN_DRAIN_DELAY: "0",
    ...env,
  });
  return {
    ...node,
    async end(signal) {
      const finished = await node.end(signal);
      if (keptData === undefined) rmSync(data, { recursive: true, force: true });
      return finished;
    },
  };
}

export interface InstalledAt {
  readonly checkout?: string;
  readonly command?: readonly string[];
  readonly root?: string;
}

/**
 * Starts `postern serve` with these arguments.
 * @param key API key for calls; undefined: the key that the server's first start prints
 * @param installed installation to start; default: these sources. `root`: the root directory of its files
 */
export async function startServer(
  args: readonly string[],
  key: string | undefined,
  env: Record<string, string>,
  { root: fileRoot = "/", ...installed }: InstalledAt = {},
): Promise<ServerNode> {
  const words = ["serve", ...args, "--json", "--log-format", "json"];
  const running: Running = startCommand(words, { env, ...installed });
  started.push(running);
  const first = JSON.parse(await running.firstLine()) as {
    readonly api_url: string;
    readonly api_key?: string;
    readonly authtoken?: string;
    readonly https_port: number;
    readonly agent_port: number;
    readonly ca_file: string;
  };
  const { api_url: apiUrl, https_port: httpsPort } = first;
  const usedKey = key ?? first.api_key ?? "";
  const ca = readFileSync(join(fileRoot, first.ca_file), "utf8");
  const agents = { port: first.agent_port, ca, token: env["POSTERN_BOOTSTRAP_AUTHTOKEN"] ?? first.authtoken ?? "" };
  const call: ServerNode["call"] = async (method, path, body, headers = {}) => {
    const response = await fetch(`${apiUrl}${path}`, {
      method,
      headers: {
        "service-version": "2",
        authorization: `Bearer ${usedKey}`,
        ...(body !== undefined && { "content-type": "application/json" }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.startsWith("application/json") ?? false;
    return {
      status: response.status,
      text,
      body: isJson && text !== "" ? (JSON.parse(text) as Record<string, unknown>) : {},
      etag: response.headers.get("etag"),
      headers: response.headers,
    };
  };
  return {
    apiUrl,
    pid: running.process.pid as number,
    httpsPort,
    agents,
    ask: (protocol, options) => askOver(protocol, httpsPort, ca, options),
    agent: (options) => startOurAgent(agents, options),
    stderr: running.stderr,
    call,
    async until(path, isWanted) {
      for (;;) {
        const reply = await call("GET", path);
        if (isWanted(reply)) return reply;
        await new Promise((resume) => setTimeout(resume, 20));
      }
    },
    end: (signal) => running.end(signal),
  };
}
