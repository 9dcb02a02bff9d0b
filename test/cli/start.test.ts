/** `postern start` really publishes the tunnels of agents' files. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { connect, createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { text } from "node:stream/consumers";
import { connect as connectTls } from "node:tls";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { request } from "../../src/lib/http.ts";
import { createAuthority, issueLeaf } from "../../src/lib/certificates/x509.ts";
import { startCommand } from "../support/command.ts";
import type { Running } from "../support/command.ts";
import { startPlatform } from "../support/platform.ts";
import type { TestPlatform } from "../support/platform.ts";
import { startHttpService } from "../support/services.ts";
import type { HttpService } from "../support/services.ts";
import { runSharedCommand } from "../support/shared-command.ts";

interface Online {
  readonly name: string;
  readonly url: string;
  readonly to: string;
}

describe("postern start", { timeout: 120_000 }, () => {
  const directory = mkdtempSync(join(tmpdir(), "postern-start-"));
  let platform: TestPlatform;
  let service: HttpService;
  let access: readonly string[];
  before(async () => {
    platform = await startPlatform({ drainMs: 50, httpListen: { host: "127.0.0.1", port: 0 } });
    service = await startHttpService(({ headers, url }, response) => response.end(JSON.stringify({ ...headers, url })));
    writeFileSync(join(directory, "ca.pem"), platform.caPem);
    access = ["--server", `127.0.0.1:${platform.agentPort}`, "--ca", join(directory, "ca.pem")];
  });
  after(async () => {
    await platform.stop();
    await service.stop();
    rmSync(directory, { recursive: true });
  });

  function file(name: string, text: string): string {
    const path = join(directory, name);
    writeFileSync(path, text);
    return path;
  }
  /** An environment without anyone's own files. */
  const env = { HOME: directory, XDG_CONFIG_HOME: directory };
  const start = (...args: string[]): Running => startCommand(["start", "--json", ...args], { env });
  async function online(agent: Running, count: number): Promise<readonly Online[]> {
    while (agent.stdout().split("\n").length <= count) {
      const end = await Promise.race([
        new Promise((resolve) => agent.process.stdout?.once("data", resolve)),
        agent.finished,
      ]);
      if (agent.process.exitCode !== null) throw new Error(`it has ended: ${JSON.stringify(end)}`);
    }
    return agent
      .stdout()
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Online)
      .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }
  async function asked(url: string, headers: IncomingHttpHeaders = {}) {
    const { status, text } = await platform.request(url, { headers: headers as Record<string, string> });
    return { status, seen: status === 200 ? (JSON.parse(text) as Record<string, string>) : {} };
  }

  it("postern start publishes a tunnel of a vendor's file of version 2 without changes", async () => {
    const path = file(
      "ngrok.yml",
      `version: "2"
authtoken: ${platform.authtoken}
tunnels:
  shop:
    proto: http
    addr: ${service.port}
    subdomain: shop
    basic_auth:
      - "bob:bobpassword"
    request_header:
      add: ["x-team: web"]
  other:
    proto: http
    addr: 1
`,
    );
    const agent = start("shop", "--config", path, ...access);
    const [shop] = (await online(agent, 1)) as readonly [Online];
    assert.deepEqual(shop, {
      name: "shop",
      url: `https://shop.localhost:${platform.httpsPort}`,
      to: `http://localhost:${service.port}`,
    });
    assert.equal((await asked(shop.url)).status, 401);
    const { status, seen } = await asked(shop.url, { authorization: `Basic ${btoa("bob:bobpassword")}` });
    assert.deepEqual([status, seen["x-team"]], [200, "web"]);
    assert.equal((await agent.end("SIGINT")).code, 130);
  });

  it("postern start names the tunnel that fails to open, and continues with the others", async () => {
    const { body } = await platform.api("POST", "/accounts", { name: "holder" });
    const holder = await platform.startAgent({ upstream: 1, url: "https://held.localhost", token: body.authtoken });
    const path = file(
      "two.yml",
      `server: 127.0.0.1:${platform.agentPort}
ca: ca.pem
authtoken: ${platform.authtoken}
tunnels:
  held: { addr: ${service.port}, url: "https://held.localhost" }
  free: { addr: ${service.port}, url: "https://free.localhost" }
`,
    );
    const agent = start("--all", "--config", path);
    const [free] = (await online(agent, 1)) as readonly [Online];
    assert.equal(free.name, "free");
    assert.equal((await asked(free.url)).status, 200);
    await agent.end("SIGINT");
    assert.match(agent.stderr(), /"tunnel ended","tunnel":"held"|tunnel ended.*held/);
    await holder.close();
  });

  for (const [what, args, message] of [
    ["nothing to start", [], /give names of tunnels, --all or --none/],
    ["an unknown name", ["wbe"], /unknown tunnel "wbe": did you mean "web"\?/],
    ["names together with --all", ["web", "--all"], /give names of tunnels/],
  ] as const) {
    it(`postern start rejects ${what}`, async () => {
      const path = file("web.yml", "tunnels: { web: { addr: 3000 } }");
      const ended = await runSharedCommand(["start", ...args, "--config", path, ...access], { env });
      assert.equal(ended.code, 2);
      assert.match(ended.stderr, message);
    });
  }

  it("postern start terminates TLS at the agent, with client certificates if the agent requires them", async (t) => {
    const now = Date.now();
    const authority = await createAuthority({ commonName: "Visitors", now });
    const own = await issueLeaf(authority, { names: ["ended.localhost", "known.localhost"], now, days: 2 });
    const visitor = await issueLeaf(authority, { names: ["visitor"], now, days: 2, usages: ["clientAuth"] });
    const echo = createServer({ allowHalfOpen: true }, (socket) => socket.pipe(socket)).listen(0, "127.0.0.1");
    await once(echo, "listening");
    const { port } = echo.address() as AddressInfo;
    file("own.pem", own.certificatePem);
    file("own.key", own.keyPem);
    const indented = authority.certificatePem.trim().replaceAll("\n", "\n          ");
    const second = file(
      "ended.yml",
      `version: 2
authtoken: ${platform.authtoken}
tunnels:
  ended: { proto: tls, addr: ${port}, domain: ended.localhost, terminate_at: agent, crt: own.pem, key: own.key }
`,
    );
    const third = file(
      "known.yml",
      `version: 3
agent:
  authtoken: ${platform.authtoken}
endpoints:
  - name: known
    url: tls://known.localhost
    upstream: { url: ${port} }
    agent_tls_termination:
      server_certificate: own.pem
      server_private_key: own.key
      mutual_tls_certificate_authorities:
        - |
          ${indented}
`,
    );
    const agents = [second, third].map((path) => start("--all", "--config", path, ...access));
    t.after(async () => {
      for (const agent of agents) await agent.end("SIGINT");
      echo.close();
    });
    await Promise.all(agents.map((agent) => online(agent, 1)));
    const whole = "through the tunnel".repeat(20_000);
    const said = async (servername: string, options: object = {}): Promise<string> => {
      const at = { host: "127.0.0.1", port: platform.httpsPort, servername, ca: authority.certificatePem };
      const socket = connectTls({ ...at, ...options });
      const error = once(socket, "error").then(([one]) => `refused: ${(one as NodeJS.ErrnoException).code}`);
      const given = text(socket).catch(() => "cut");
      socket.end(whole);
      const first = await Promise.race([given, error]);
      socket.destroy();
      return first === whole ? "all of it" : first.slice(0, 40);
    };
    assert.equal(await said("ended.localhost"), "all of it");
    assert.equal(await said("known.localhost", { cert: visitor.certificatePem, key: visitor.keyPem }), "all of it");
    // Clients without a certificate, or with one for another use, get no response.
    for (const stranger of [{}, { cert: own.certificatePem, key: own.keyPem }]) {
      assert.match(await said("known.localhost", stranger), /^$|^refused|^cut/);
    }
  });

  it("postern start names the agent file and the command that writes one when there is none", async () => {
    const ended = await runSharedCommand(["start", "--all"], { env });
    assert.equal(ended.code, 2);
    assert.match(ended.stderr, new RegExp(`no agent file "${directory}/postern/agent.yml": write one with`));
  });

  it("postern http uses the configured proxy, and names a proxy that does not answer", async () => {
    const targets: string[] = [];
    const proxy = createServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", (head: Buffer) => {
        targets.push(head.toString("latin1").split("\r\n")[0] as string);
        const onward = connect(platform.agentPort, "127.0.0.1");
        onward.on("error", () => {});
        socket.write("HTTP/1.1 200 OK\r\n\r\n");
        socket.pipe(onward).pipe(socket);
      });
    }).listen(0, "127.0.0.1");
    await once(proxy, "listening");
    const { port } = proxy.address() as AddressInfo;
    const args = ["http", String(service.port), "--json", "--token", platform.authtoken, ...access];
    const agent = startCommand([...args, "--proxy", `http://127.0.0.1:${port}`], { env });
    const { url } = JSON.parse(await agent.firstLine()) as Online;
    assert.equal((await asked(url)).status, 200);
    assert.deepEqual(targets, [`CONNECT 127.0.0.1:${platform.agentPort} HTTP/1.1`]);
    await agent.end("SIGINT");
    proxy.close();
    const gone = await runSharedCommand([...args, "--proxy", "socks5://127.0.0.1:1"], { env });
    assert.equal(gone.code, 4);
    assert.match(gone.stderr, /cannot reach the proxy 127\.0\.0\.1:1/);
  });

  it("postern http applies the modules of its flags, with secrets from a file", async () => {
    const users = file("users", "ann:correct horse\nbob:battery staple\n");
    const flags = ["--basic-auth-file", users, "--response-header-add", "x-edge:postern", "--host-header", "rewrite"];
    const agent = startCommand(
      ["http", String(service.port), "--json", "--token", platform.authtoken, ...access, ...flags],
      { env },
    );
    const { url } = JSON.parse(await agent.firstLine()) as Online;
    assert.equal((await asked(url)).status, 401);
    for (const user of ["ann:correct horse", "bob:battery staple"]) {
      const { status, headers, text } = await platform.request(url, {
        headers: { authorization: `Basic ${btoa(user)}` },
      });
      assert.deepEqual([status, headers["x-edge"]], [200, "postern"]);
      assert.equal((JSON.parse(text) as Record<string, string>)["host"], `localhost:${service.port}`);
    }
    await agent.end("SIGINT");
  });

  it("postern start publishes both schemes of a tunnel, and serves http:// without TLS", async () => {
    const path = file(
      "schemes.yml",
      `version: "2"\nauthtoken: ${platform.authtoken}\ntunnels:\n  both: { proto: http, addr: ${service.port}, subdomain: both, schemes: [http, https] }\n`,
    );
    const agent = start("both", "--config", path, ...access);
    const [secure, plain] = (await online(agent, 2)) as readonly [Online, Online];
    assert.deepEqual([secure.name, plain.name], ["both", "both (http)"]);
    assert.equal((await asked(secure.url)).status, 200);
    const { protocol, hostname, port } = new URL(plain.url);
    assert.deepEqual([protocol, hostname], ["http:", new URL(secure.url).hostname]);
    const outgoing = request({ host: "127.0.0.1", port, path: "/plain", agent: false, headers: { host: hostname } });
    outgoing.end();
    const [response] = (await once(outgoing, "response")) as [IncomingMessage];
    let text = "";
    for await (const piece of response.setEncoding("utf8") as AsyncIterable<string>) text += piece;
    assert.equal(response.statusCode, 200);
    assert.equal((JSON.parse(text) as Record<string, string>)["x-forwarded-proto"], "http");
    await agent.end("SIGINT");
  });
});
