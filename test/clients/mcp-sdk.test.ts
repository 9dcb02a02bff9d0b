/** The public MCP client, against an MCP server behind an agent whose URL requires a login. */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import type { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { createServer } from "../../src/lib/http.ts";
import type { Browser } from "../support/browser.ts";
import { eventually } from "../support/eventually.ts";
import { startLoginWorld } from "../support/login-world.ts";
import type { LoginWorld } from "../support/login-world.ts";
import { ClientStore, toolText } from "../support/mcp-client.ts";
import { decide, logIn } from "../support/oauth-client.ts";
import { clientId, clientSecret } from "../support/oauth-providers.ts";
import type { Person } from "../support/oauth-providers.ts";
import { startOurAgent } from "../support/our-agent.ts";
import type { OurAgent } from "../support/our-agent.ts";

const ada: Person = { id: "4711", name: "Ada Lovelace", login: "ada", email: "ada@example.com", verified: true };
const machine_clients = {
  enabled: true,
  scopes: ["access", "write"],
  scope_rules: [{ scope: "write", expression: 'mcp.method == "tools/call" && mcp.tool == "store"' }],
};

/** The released clients, as modules of one version each. Their types are those of the newest. */
interface Sdk {
  readonly Client: typeof Client;
  readonly StreamableHTTPClientTransport: typeof StreamableHTTPClientTransport;
  readonly UnauthorizedError: typeof UnauthorizedError;
}
const newest = "@modelcontextprotocol/sdk";
const sdks = new Map<string, Sdk>();
for (const name of [newest, "mcp-sdk-1-26", "mcp-sdk-1-20"]) {
  const parts = ["client/auth.js", "client/index.js", "client/streamableHttp.js"].map((part) => `${name}/${part}`);
  const modules = await Promise.all(parts.map(async (one) => (await import(one)) as Partial<Sdk>));
  sdks.set(name, Object.assign({}, ...modules) as Sdk);
}

/** Two tools that say who called them, as the identity fields of the edge tell. */
async function startMcpServer() {
  const server = createServer((request, response) => {
    if (request.method !== "POST") return void response.writeHead(405).end();
    const who = String(request.headers["ngrok-auth-user-email"]);
    const leaks = JSON.stringify(request.headers).includes("postern_oa_");
    const mcp = new McpServer({ name: "tools", version: "1.0.0" });
    for (const name of ["whoami", "store"]) {
      mcp.registerTool(name, { description: name }, () => ({ content: [{ type: "text", text: `${who} ${leaks}` }] }));
    }
    const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
    response.on("close", () => void mcp.close());
    mcp
      .connect(transport as unknown as Parameters<typeof mcp.connect>[0])
      .then(() => transport.handleRequest(request, response))
      .catch(() => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

/** Requests of the client, over the connection of a test's browser without its cookies. */
function fetchWith(browser: Browser) {
  return async (url: string | URL, init: RequestInit = {}): Promise<Response> => {
    const headers = Object.fromEntries(new Headers(init.headers));
    const body = init.body ? await new Response(init.body).text() : undefined;
    const answer = await browser.ask(String(url), {
      headers,
      ...(init.method !== undefined && { method: init.method }),
      ...(body !== undefined && { body }),
    });
    const fields = new Headers();
    for (const [name, value] of Object.entries(answer.headers))
      if (value !== undefined && !name.startsWith(":")) fields.set(name, String(value));
    const isEmpty = answer.status === 204 || answer.status === 304;
    return new Response(isEmpty ? null : answer.text, { status: answer.status, headers: fields });
  };
}

for (const [http, name] of (["h1", "h2"] as const).flatMap((one) =>
  [...sdks.keys()].map((sdk) => [one, sdk] as const),
)) {
  const sdk = sdks.get(name) as Sdk;
  describe(`the public MCP client ${name} over ${http}`, () => {
    let world: LoginWorld;
    let mcp: Awaited<ReturnType<typeof startMcpServer>>;
    let agent: OurAgent;
    before(async () => {
      world = await startLoginWorld();
      Object.assign(world.providers, { person: ada });
      mcp = await startMcpServer();
      const { platform } = world;
      const OAuth = { provider: "github", client_id: clientId, client_secret: clientSecret, machine_clients };
      agent = await startOurAgent(
        { port: platform.agentPort, ca: platform.caPem, token: platform.authtoken },
        { upstream: mcp.port, url: "https://tools.localhost", tunnel: { options: { OAuth } } },
      );
      await agent.online();
    });
    after(async () => {
      await agent.close();
      await mcp.stop();
      await world.stop();
    });
    const connect = async (provider: ClientStore) => {
      const programs = world.browser(http);
      const transport = () =>
        new sdk.StreamableHTTPClientTransport(new URL(`${agent.url}/mcp`), {
          authProvider: provider,
          fetch: fetchWith(programs),
        }) as StreamableHTTPClientTransport & Parameters<Client["connect"]>[0];
      const person = world.browser(http);
      /** What the person does after the client has opened the browser. */
      const confirm = async (through: StreamableHTTPClientTransport): Promise<void> => {
        const page = await logIn(person, String(provider.opened));
        const back = page.status === 200 ? await decide(person, page, "allow") : page;
        assert.equal(back.status, 303, back.text);
        await through.finishAuth(new URL(String(back.headers.location)).searchParams.get("code") ?? "");
      };
      const first = transport();
      const client = new sdk.Client({ name: "test", version: "1.0.0" });
      await assert.rejects(client.connect(first), sdk.UnauthorizedError);
      await confirm(first);
      const second = transport();
      await client.connect(second);
      return { client, transport: second, confirm };
    };

    it(`the public MCP client ${name} over ${http} discovers, registers, logs in, and calls tools in the person's name`, async () => {
      const { client } = await connect(new ClientStore());
      assert.deepEqual((await client.listTools()).tools.map(({ name }) => name).toSorted(), ["store", "whoami"]);
      assert.equal(toolText(await client.callTool({ name: "whoami" })), "ada@example.com false");
      await client.close();
    });

    // Version 1.20 does not read insufficient_scope.
    if (name !== "mcp-sdk-1-20") {
      it(`the public MCP client ${name} over ${http} requests a further scope when a tool needs it`, async () => {
        const provider = new ClientStore();
        const { client, transport, confirm } = await connect(provider);
        provider.opened = undefined;
        // With a refresh token, this client would try the same scopes again.
        const { access_token = "" } = provider.tokens() ?? {};
        provider.saveTokens({ access_token, token_type: "Bearer" });
        await assert.rejects(client.callTool({ name: "store" }), sdk.UnauthorizedError);
        assert.deepEqual((provider.opened as URL | undefined)?.searchParams.get("scope")?.split(" ").toSorted(), [
          "access",
          "write",
        ]);
        await confirm(transport);
        assert.equal(toolText(await client.callTool({ name: "store" })), "ada@example.com false");
        await client.close();
      });
    }

    it(`the public MCP client ${name} over ${http} renews expired tokens, and needs a new login after the session is deleted`, async () => {
      const provider = new ClientStore();
      const { client } = await connect(provider);
      const { refresh_token = "" } = provider.tokens() ?? {};
      provider.saveTokens({ access_token: "postern_oa_expired", token_type: "Bearer", refresh_token });
      assert.equal(toolText(await client.callTool({ name: "whoami" })), "ada@example.com false");
      assert.notEqual(provider.tokens()?.refresh_token, refresh_token);
      const { body } = await world.platform.api("GET", "/app/sessions");
      for (const { id } of body.application_sessions as { id: string }[]) {
        await world.platform.api("DELETE", `/app/sessions/${id}`);
      }
      await eventually(
        async () =>
          await client.callTool({ name: "whoami" }).then(
            () => "called",
            (error: unknown) => error,
          ),
        (outcome) => outcome instanceof sdk.UnauthorizedError,
      );
      await client.close();
    });

    it(`the public MCP client ${name} over ${http} is known by its metadata document without a registration`, async () => {
      const documents = createServer((request, response) => {
        const client_id = `http://127.0.0.1:${(documents.address() as AddressInfo).port}${request.url}`;
        response.writeHead(200, { "content-type": "application/json" });
        response.end(JSON.stringify({ ...new ClientStore().clientMetadata, client_name: "Documented", client_id }));
      });
      documents.listen(0, "127.0.0.1");
      await once(documents, "listening");
      const provider = new ClientStore();
      const id = `http://127.0.0.1:${(documents.address() as AddressInfo).port}/client.json`;
      provider.saveClientInformation({ client_id: id });
      const { client } = await connect(provider);
      assert.equal(provider.opened?.searchParams.get("client_id"), id);
      assert.equal(toolText(await client.callTool({ name: "whoami" })), "ada@example.com false");
      await client.close();
      documents.close();
    });
  });
}
