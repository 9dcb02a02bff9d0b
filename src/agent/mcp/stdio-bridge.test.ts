/** The bridge with real processes and the public MCP client. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { movableClock } from "../../../test/support/clock.ts";
import { eventually } from "../../../test/support/eventually.ts";
import type { Log } from "../../lib/log.ts";
import { silentLog } from "../../lib/log.ts";
import type { LocalService } from "../local-service.ts";
import { findMcp } from "./find-mcp.ts";
import { stdioBridge } from "./stdio-bridge.ts";

const script = fileURLToPath(new URL("../../../test/support/mcp-stdio-server.ts", import.meta.url));
const command = `"${process.execPath}" "${script}"`;
const clock = movableClock();
const said: string[] = [];
const log: Log = {
  ...silentLog,
  info: (event, fields) => void said.push(`${event} ${String(fields?.["line"])}`),
  warn: (event, fields) => void said.push(`${event} ${String(fields?.["reason"])}`),
};

interface Served {
  readonly service: LocalService;
  readonly url: URL;
  stop(): Promise<void>;
}

async function serve(more: { command?: string; maxSessions?: number } = {}): Promise<Served> {
  const service = stdioBridge({
    command,
    env: process.env,
    maxSessions: 3,
    idleMs: 60_000,
    clock,
    log: () => log,
    ...more,
  });
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    service.serve(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`);
  return {
    service,
    url,
    async stop() {
      await service.close?.();
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

type Connected = Client & { readonly sessionId: string | undefined };

async function connect(url: URL): Promise<Connected> {
  const transport = new StreamableHTTPClientTransport(url);
  const client = new Client({ name: "test", version: "1.0.0" });
  await client.connect(transport as StreamableHTTPClientTransport & Parameters<Client["connect"]>[0]);
  return Object.assign(client, { sessionId: transport.sessionId });
}

const callOf = async (client: Client, name: string): Promise<string> => {
  const { content } = (await client.callTool({ name })) as { content: readonly { text: string }[] };
  return content[0]?.text ?? "";
};
const pidOf = async (client: Client): Promise<number> => Number((await callOf(client, "count")).split(" ")[0]);
const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};
const post = (url: URL, body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });

describe("an MCP server on standard input and output", { timeout: 120_000 }, () => {
  let bridge: Served;
  before(async () => void (bridge = await serve()));
  after(() => bridge.stop());

  it("the bridge starts a separate process for each session of the public client, and ends it with the session", async () => {
    const one = await connect(bridge.url);
    const two = await connect(bridge.url);
    assert.deepEqual((await one.listTools()).tools.map(({ name }) => name).toSorted(), [
      "count",
      "crash",
      "flood",
      "hang",
      "progress",
    ]);
    const pid = await pidOf(one);
    assert.equal(await callOf(one, "count"), `${pid} 2`);
    assert.notEqual(await pidOf(two), pid);
    await (one.transport as unknown as StreamableHTTPClientTransport).terminateSession();
    await eventually(
      () => isAlive(pid),
      (alive) => !alive,
    );
    await one.close();
    await two.close();
  });

  it("the bridge sends progress in the stream of its request", async () => {
    const client = await connect(bridge.url);
    const seen: number[] = [];
    await client.callTool({ name: "progress" }, undefined, { onprogress: ({ progress }) => void seen.push(progress) });
    assert.deepEqual(seen, [1, 2]);
    await client.close();
  });

  it("the bridge logs standard error and other text", async () => {
    const client = await connect(bridge.url);
    assert.ok(said.includes("MCP server starting, this is no JSON"));
    await eventually(
      () => said,
      (lines) => lines.includes("MCP server started without a token"),
    );
    await client.close();
  });

  it("the bridge answers the open requests of a process that ends, and starts it again for the same session", async () => {
    const client = await connect(bridge.url);
    const pid = await pidOf(client);
    await assert.rejects(client.callTool({ name: "crash" }), /the MCP server ended with exit code 7/);
    const again = await pidOf(client);
    assert.notEqual(again, pid);
    assert.ok(said.includes("MCP server ended ended with exit code 7"));
    await client.close();
  });

  it("the bridge ends a session whose process ends again and again", async () => {
    const client = await connect(bridge.url);
    for (let time = 0; time < 4; time += 1) await assert.rejects(client.callTool({ name: "crash" }), /exit code 7/);
    await assert.rejects(client.callTool({ name: "count" }), /404|does not exist/);
    await client.close();
  });

  it("the bridge ends a process whose message never ends, and serves other sessions meanwhile", async () => {
    const client = await connect(bridge.url);
    const other = await connect(bridge.url);
    const flood = assert.rejects(client.callTool({ name: "flood" }), /more than 8388608 bytes/);
    assert.match(await callOf(other, "count"), /^\d+ 1$/);
    await flood;
    await client.close();
    await other.close();
  });

  it("the bridge limits the open requests of a process that does not answer", async () => {
    const client = await connect(bridge.url);
    const headers = { "mcp-session-id": client.sessionId ?? "" };
    const abort = new AbortController();
    const hang = (id: number) => ({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "hang" } });
    const batch = Array.from({ length: 101 }, (_, at) => hang(at + 1000));
    const response = await fetch(bridge.url, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "text/event-stream", ...headers },
      body: JSON.stringify(batch),
      signal: abort.signal,
    });
    const { value } = await (response.body as ReadableStream<Uint8Array>).getReader().read();
    assert.match(Buffer.from(value ?? []).toString(), /"id":1100.*still open/);
    abort.abort();
    await client.close();
  });

  it("the bridge gives the place of an unused session to a new one, and ends idle sessions", async () => {
    const own = await serve({ maxSessions: 2 });
    const headersOf = (response: Response) => ({ "mcp-session-id": response.headers.get("mcp-session-id") ?? "" });
    const begin = { jsonrpc: "2.0", id: 1, method: "initialize", params: initializeParams };
    const ping = { jsonrpc: "2.0", id: 2, method: "ping" };
    const first = headersOf(await post(own.url, begin));
    const second = headersOf(await post(own.url, begin));
    await (await post(own.url, ping, first)).text();
    const third = headersOf(await post(own.url, begin));
    assert.equal((await post(own.url, ping, second)).status, 404);
    for (const headers of [first, third]) assert.equal((await post(own.url, ping, headers)).status, 200);
    // A question that arrives before the bridge looks counts as a use.
    await eventually(
      async () => {
        clock.move(90_000);
        await new Promise(setImmediate);
        return (await post(own.url, ping, first)).status;
      },
      (status) => status === 404,
    );
    await own.stop();
  });

  it("the bridge refuses a new session if clients use all sessions", async () => {
    const own = await serve({ maxSessions: 1 });
    const client = await connect(own.url);
    // The client's stream.
    await eventually(
      async () => (await fetch(own.url, { headers: { "mcp-session-id": client.sessionId ?? "" } })).status,
      (status) => status === 409,
    );
    const refused = await post(own.url, { jsonrpc: "2.0", id: 1, method: "initialize", params: initializeParams });
    assert.equal(refused.status, 503);
    await client.close();
    await own.stop();
  });

  it("the bridge refuses requests that are no MCP", async () => {
    const unknown = { "mcp-session-id": "00000000-0000-0000-0000-000000000000" };
    const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
    assert.equal((await post(bridge.url, "{")).status, 400);
    assert.equal((await post(bridge.url, [])).status, 400);
    assert.equal((await post(bridge.url, { id: 1 })).status, 400);
    assert.equal((await post(bridge.url, ping)).status, 400);
    assert.equal((await post(bridge.url, ping, unknown)).status, 404);
    assert.equal((await post(bridge.url, "x".repeat(4_194_305))).status, 413);
    assert.equal((await fetch(bridge.url, { method: "PUT" })).status, 405);
    assert.equal((await fetch(new URL("/other", bridge.url))).status, 404);
  });

  it("the bridge answers with JSON for a client that accepts no stream, also a batch", async () => {
    const client = await connect(bridge.url);
    const headers = { "mcp-session-id": client.sessionId ?? "", accept: "application/json" };
    const ping = (id: number) => ({ jsonrpc: "2.0", id, method: "ping" });
    assert.deepEqual(await (await post(bridge.url, ping(50), headers)).json(), { jsonrpc: "2.0", id: 50, result: {} });
    const answers = (await (await post(bridge.url, [ping(51), ping(52)], headers)).json()) as { id: number }[];
    assert.deepEqual(new Set(answers.map(({ id }) => id)), new Set([51, 52]));
    await client.close();
  });

  it("the bridge tells why a command is no MCP server", async () => {
    for (const [wrong, why] of [
      [`${command} --dies`, /refused initialize: the MCP server ended with exit code 3/],
      ["this-command-does-not-exist", /refused initialize: the MCP server ended with exit code 127/],
    ] as const) {
      const own = await serve({ command: wrong });
      const upstream = { host: "", port: 0, tls: false, text: "stdio:x", local: own.service };
      await assert.rejects(findMcp(upstream, "/mcp"), why);
      await own.stop();
    }
  });
});

const initializeParams = {
  protocolVersion: "2025-06-18",
  capabilities: {},
  clientInfo: { name: "test", version: "1" },
};
