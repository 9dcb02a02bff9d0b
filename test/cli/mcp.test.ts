/** `postern http --mcp` and `--mcp-stdio`: real servers and agents, and the public MCP client with a login. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, describe, it } from "node:test";
import { createServer } from "../../src/lib/http.ts";
import { openBrowser } from "../support/browser.ts";
import { freePorts, root, startCommand } from "../support/command.ts";
import type { Running } from "../support/command.ts";
import { freePort } from "../support/connections.ts";
import { eventually } from "../support/eventually.ts";
import { protocols } from "../support/http-client.ts";
import { localFetch } from "../support/local-fetch.ts";
import { allowAtDevProvider, connectMcp } from "../support/mcp-client.ts";
import { mcpKinds, startMcpServer } from "../support/mcp-servers.ts";
import type { RunningMcpServer } from "../support/mcp-servers.ts";
import { runSharedCommand } from "../support/shared-command.ts";
import { startHttpService } from "../support/services.ts";

const stdio = `"${process.execPath}" "${root}test/support/mcp-stdio-server.ts"`;

interface Online {
  readonly url: string;
  readonly mcp: {
    readonly url: string;
    readonly transport: "http" | "sse";
    readonly clients: readonly { readonly client: string; readonly add: string }[];
  };
}

describe("postern http --mcp", { timeout: 240_000 }, () => {
  const directory = mkdtempSync(join(tmpdir(), "postern-mcp-"));
  const data = ["--data", directory];
  const running: Running[] = [];
  const servers: Pick<RunningMcpServer, "stop">[] = [];
  let ca: string;
  /** A login at the server's development provider. */
  let provider: readonly string[];
  let server: Running;
  before(async () => {
    server = startCommand(["dev", ...data, "--json"], { env: freePorts });
    await server.firstLine();
    ca = readFileSync(join(directory, "ca.pem"), "utf8");
    const { stdout } = await runSharedCommand(["api", "GET", "/login_addresses"], {
      env: { POSTERN_DATA: directory },
    });
    const { issuer, client_id, client_secret } = JSON.parse(stdout).development_provider;
    provider = ["--oidc", issuer, "--oidc-client-id", client_id, "--oidc-client-secret", client_secret];
  });
  afterEach(async () => {
    for (const one of running.splice(0)) await one.end("SIGINT");
    for (const one of servers.splice(0)) await one.stop();
  });
  after(async () => {
    await server.end("SIGINT");
    rmSync(directory, { recursive: true });
  });
  const publish = async (args: readonly string[], env = {}): Promise<Online & { readonly agent: Running }> => {
    const agent = startCommand([...args, "--json", "--inspector", "off", ...data], { env });
    running.push(agent);
    return { ...(JSON.parse(await agent.firstLine()) as Online), agent };
  };
  const start = async (...given: Parameters<typeof startMcpServer>): Promise<RunningMcpServer> => {
    const server = await startMcpServer(...given);
    servers.push(server);
    return server;
  };

  for (const kind of mcpKinds) {
    it(`postern http --mcp publishes a server of the public SDK (${kind}) with a login, over both versions of HTTP`, async () => {
      const service = await start(kind);
      const { url, mcp } = await publish(["http", String(service.port), "--mcp", ...provider]);
      assert.equal(mcp.transport, kind === "sse" ? "sse" : "http");
      assert.equal(mcp.url, `${url}${kind === "sse" ? "/sse" : "/mcp"}`);
      for (const http of protocols) {
        const { fetch, close } = localFetch(ca, http);
        const person = openBrowser({ ca, http });
        const confirm = (at: string): Promise<string> => allowAtDevProvider(person, at, "ada");
        const client = await connectMcp(mcp.url, { transport: mcp.transport, fetch, confirm });
        assert.deepEqual((await client.toolNames()).toSorted(), ["fail", "steps", "who"]);
        assert.equal(await client.ok("who"), `${kind} ada@example.com`);
        const seen: number[] = [];
        await client.client.callTool({ name: "steps" }, undefined, {
          onprogress: ({ progress }) => void seen.push(progress),
        });
        // A JSON response has no place for notifications. With SSE, the client drops those that arrive with the result.
        if (kind !== "sse") assert.deepEqual(seen, kind === "json" ? [] : [1, 2, 3]);
        await client.close();
        close();
      }
      assert.deepEqual([...service.hosts], [`localhost:${service.port}`]);
    });
  }

  it("postern http --mcp answers a client without a token with 401 and the metadata of the authorization server", async () => {
    const service = await start("stateless");
    const { mcp } = await publish(["http", String(service.port), "--mcp", "--sso", "dev"]);
    const { fetch, close } = localFetch(ca, "h1");
    const refused = await fetch(mcp.url, { method: "POST", body: "{}" });
    assert.equal(refused.status, 401);
    assert.match(refused.headers.get("www-authenticate") ?? "", /resource_metadata="https:.*\/mcp"/);
    close();
  });

  it("postern http --mcp prints a command or link for common clients", async () => {
    const service = await start("stateless");
    const args = ["http", `${service.port}/mcp`, "--mcp", "--inspector", "off", "--screen", "off", ...data];
    const agent = startCommand(args);
    running.push(agent);
    await eventually(
      () => agent.stdout(),
      (text) => text.includes("curl:"),
    );
    const [, url = ""] = /^MCP server at (https:\S+\/mcp)\. Add it to a client:$/m.exec(agent.stdout()) ?? [];
    assert.notEqual(url, "", agent.stdout());
    const name = new URL(url).hostname.split(".")[0] ?? "";
    const text = agent.stdout();
    assert.ok(text.includes(`claude mcp add --transport http ${name} ${url}`), text);
    assert.ok(text.includes(`code --add-mcp '{"name":"${name}","type":"http","url":"${url}"}'`));
    assert.ok(text.includes(`npx mcp-remote ${url}`));
    const [, config = ""] =
      /cursor:\/\/anysphere\.cursor-deeplink\/mcp\/install\?name=\S+&config=(\S+)/.exec(text) ?? [];
    assert.deepEqual(JSON.parse(Buffer.from(decodeURIComponent(config), "base64").toString()), { url });
    assert.match(agent.stderr(), /everyone who knows the URL can call the tools.*--sso dev/);
    assert.ok(text.includes("NODE_EXTRA_CA_CERTS") && !text.includes("Claude Desktop"), "only this machine reaches it");
  });

  it("G3: postern http --mcp-stdio gives the process no token of the agent", async () => {
    const env = { POSTERN_AUTHTOKEN: readFileSync(join(directory, "authtoken"), "utf8").trim() };
    const { agent } = await publish(["http", "--mcp-stdio", stdio], env);
    assert.match(agent.stderr(), /started without a token/);
  });

  it("postern http --mcp-stdio publishes a command with a login, and ends its processes with the agent", async () => {
    const { mcp, agent } = await publish(["http", "--mcp-stdio", stdio, "--sso", "dev"]);
    const { fetch, close } = localFetch(ca, "h2");
    const person = openBrowser({ ca });
    const confirm = (at: string): Promise<string> => allowAtDevProvider(person, at, "ada");
    const client = await connectMcp(mcp.url, { transport: "http", fetch, confirm });
    const [pid, count] = (await client.ok("count")).split(" ").map(Number) as [number, number];
    assert.equal(count, 1);
    const { code } = await agent.end("SIGINT");
    assert.equal(code, 130);
    assert.throws(() => process.kill(pid, 0));
    close();
  });

  it("postern start publishes MCP servers of a file", async () => {
    const service = await start("stateful");
    const file = join(directory, "agent.yml");
    const tunnels = {
      http: { proto: "http", addr: service.port, mcp: true },
      stdio: { proto: "http", mcp_stdio: stdio },
    };
    writeFileSync(file, JSON.stringify({ data: directory, tunnels }));
    const agent = startCommand(["start", "--all", "--json", "--inspector", "off", "--config", file]);
    running.push(agent);
    const lines = await eventually(
      () => agent.stdout().trim().split("\n"),
      (found) => found.length === 2,
    );
    for (const line of lines) {
      const { mcp } = JSON.parse(line) as Online;
      const { fetch, close } = localFetch(ca, "h1");
      const client = await connectMcp(mcp.url, { transport: "http", fetch });
      assert.ok((await client.toolNames()).length > 0);
      await client.close();
      close();
    }
  });

  it("the guide about MCP servers works as written, with the development provider", async () => {
    const page = readFileSync(join(root, "docs/guides/mcp.md"), "utf8");
    const commands = [...page.matchAll(/^postern (.*)$/gm)].map(([, line = ""]) => line);
    assert.ok(commands.includes("dev"));
    const line = commands.find((one) => one.endsWith("--sso dev")) ?? "";
    const service = await start("stateful");
    const args = line.replace("8000", String(service.port)).split(" ");
    const agent = startCommand(args, { env: { POSTERN_DATA: directory, POSTERN_INSPECTOR: "off" } });
    running.push(agent);
    const url = await eventually(
      () => /^MCP server at (\S+)\. Add it to a client:$/m.exec(agent.stdout())?.[1] ?? "",
      (found) => found !== "",
    );
    const { fetch, close } = localFetch(ca, "h1");
    const person = openBrowser({ ca });
    const confirm = (at: string): Promise<string> => allowAtDevProvider(person, at, "ada");
    const client = await connectMcp(url, { transport: "http", fetch, confirm });
    assert.equal(await client.ok("who"), "stateful ada@example.com");
    await client.close();
    close();
    const file = join(directory, "guide.yml");
    writeFileSync(file, /^```yaml\n([^]*?)^```$/m.exec(page)?.[1] ?? "");
    const checked = await runSharedCommand(["config", "check", "--config", file]);
    assert.equal(checked.code, 0, checked.stderr);
  });

  it("several agents of one URL keep each MCP session, and a client begins anew when its agent has left", async () => {
    const url = "https://pool.localhost";
    const agents = [];
    for (const name of ["one", "two"]) {
      const { port } = await start("stateful", name);
      agents.push(await publish(["http", String(port), "--mcp", "--pooling", "--url", url]));
    }
    const { mcp } = agents[0] as Online;
    const { fetch, close } = localFetch(ca, "h1");
    const names = new Set<string>();
    for (let time = 0; time < 20 && names.size < 2; time += 1) {
      const client = await connectMcp(mcp.url, { transport: "http", fetch });
      const name = await client.ok("who");
      names.add(name);
      for (let again = 0; again < 5; again += 1) assert.equal(await client.ok("who"), name);
      await client.close();
    }
    assert.equal(names.size, 2);
    const client = await connectMcp(mcp.url, { transport: "http", fetch });
    const served = (await client.ok("who")).startsWith("one") ? 0 : 1;
    await agents[served]?.agent.end("SIGINT");
    await assert.rejects(client.ok("who"), /404|not connected/);
    const again = await connectMcp(mcp.url, { transport: "http", fetch });
    assert.equal((await again.ok("who")).split(" ")[0], served === 0 ? "two" : "one");
    await again.close();
    await client.close();
    close();
  });

  it("postern http --mcp names what is wrong with a target that is no MCP server", async () => {
    const page = await startHttpService((_request, response) => response.end("hello"));
    const guarded = await startHttpService((_request, response) => response.writeHead(401).end());
    const absolute = createServer((request, response) => {
      if (request.method !== "GET") return void response.writeHead(405).end();
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write("event: endpoint\ndata: http://localhost:1/messages\n\n");
    });
    absolute.listen(0, "127.0.0.1");
    await once(absolute, "listening");
    const { port: absolutePort } = absolute.address() as { port: number };
    servers.push(page, guarded, {
      async stop() {
        absolute.closeAllConnections();
        absolute.close();
      },
    });
    const older = await start("sse");
    const closed = await startHttpService(() => {});
    await closed.stop();
    const login = ["--server", "localhost:1", ...data];
    const env = { POSTERN_AUTHTOKEN: "postern_at_x" };
    for (const [args, code, holds] of [
      [
        [String(page.port), "--mcp"],
        6,
        /does not speak MCP: POST \/mcp answered 200 with .*, GET \/mcp .*Start an MCP/,
      ],
      [[String(guarded.port), "--mcp"], 6, /requires its own authorization \(401\)/],
      [[String(absolutePort), "--mcp"], 6, /other machines cannot reach/],
      [[String(closed.port), "--mcp"], 6, /cannot reach the service/],
      [[`${older.port}/other`, "--mcp"], 6, /POST \/other answered 404, GET \/other answered 404/],
      [[String(older.port), "--mcp", "--pooling"], 2, /does not work with the older SSE transport/],
      [["--mcp-stdio", "exit 3"], 6, /the MCP server ended with exit code 3/],
      [["3000", "--mcp-stdio", "x"], 2, /cannot be set, because the MCP server is a command/],
      [["3000", "/a=3001", "--mcp"], 2, /must be one target/],
      [["3000", "--mcp", "--compression"], 2, /--compression cannot be set for an MCP server/],
      [["3000", "--mcp", "--upstream-protocol", "http2"], 2, /--upstream-protocol must be http1/],
      [["3000", "--mcp", "--label", "app=web"], 2, /does not work with/],
      [["3000", "--mcp-idle-timeout", "5m"], 2, /--mcp-stdio/],
      [[], 2, /needs a target/],
    ] as const) {
      const ended = await runSharedCommand(["http", ...args, ...login], { env });
      assert.equal(ended.code, code, `${args.join(" ")}: ${ended.stderr}`);
      assert.match(ended.stderr, holds);
    }
  });

  it("G11: the agent's local API starts no command", async () => {
    const address = `http://127.0.0.1:${await freePort()}`;
    const agent = startCommand(["start", "--none", "--inspector", address.slice(7), "--config", emptyFile()]);
    running.push(agent);
    const state = (): Promise<string> => fetch(`${address}/api/status`).then((one) => one.text(), String);
    await eventually(state, (text) => text.includes('"online"'));
    const answer = await fetch(`${address}/api/tunnels`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ name: "x", proto: "http", mcp_stdio: `touch ${directory}/started` }),
    });
    assert.equal(answer.status, 400);
    assert.match(await answer.text(), /starts a command: write the tunnel to an agent file/);
  });

  function emptyFile(): string {
    const file = join(directory, "empty.yml");
    writeFileSync(file, `data: ${directory}\n`);
    return file;
  }
});
