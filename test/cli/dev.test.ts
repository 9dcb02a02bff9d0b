/** `npm start`, the main use, as a separate process. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo, Server } from "node:net";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { promisify } from "node:util";
import { Postern } from "../../sdk/src/index.ts";
import { freePorts, runCommand, startCommand } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { dialPort, freePort, readToEnd } from "../support/connections.ts";
import { connectOver } from "../support/http-client.ts";
import { startHttpService, startTcpService } from "../support/services.ts";
import { databases } from "../support/postgres.ts";
import { skipWithout } from "../support/programs.ts";

const run = promisify(execFile);

interface DevFacts {
  readonly inspector_url: string;
  readonly url: string;
  readonly to: string;
  readonly api_url: string;
  readonly api_key: string;
  readonly authtoken: string;
  readonly ca_file: string;
  readonly https_port: number;
  readonly agent_port: number;
}

/** Calls curl like a user. curl resolves names below localhost itself. */
async function curl(caFile: string, url: string): Promise<string> {
  return (await run("curl", ["-sS", "--fail", "--cacert", caFile, url])).stdout;
}

/** Listens on a loopback port, unless the port is already in use. */
async function take(port: number): Promise<Server> {
  const server = createServer().listen(port, "127.0.0.1");
  await Promise.race([once(server, "listening"), new Promise((resolve) => server.once("error", resolve))]);
  return server;
}

describe("postern dev", { skip: skipWithout("curl") }, () => {
  const directory = mkdtempSync(join(tmpdir(), "postern-dev-"));
  after(() => rmSync(directory, { recursive: true }));

  it("postern dev publishes the sample service at a URL that answers when it is printed, and the same after a restart", async () => {
    const urls: string[] = [];
    const secrets = new Set<string>();
    let port = "0";
    for (let start = 0; start < 2; start += 1) {
      const dev = startCommand(["dev", "--json", "--data", directory], {
        env: { ...freePorts, POSTERN_HTTPS_LISTEN: `127.0.0.1:${port}` },
      });
      const facts = JSON.parse(await dev.firstLine()) as DevFacts;
      assert.match(await curl(facts.ca_file, `${facts.url}/hello`), /sample service[^]*GET \/hello HTTP\/1\.1/);
      port = String(facts.https_port);
      // Only this machine can reach the server. It offers its development provider to routes, with the same secret
      // after a restart.
      const postern = new Postern({ baseUrl: facts.api_url, apiKey: facts.api_key });
      const { development_provider: provider } = await postern.loginAddresses();
      const discovery = await fetch(`${provider?.issuer}/.well-known/openid-configuration`);
      assert.equal(((await discovery.json()) as { issuer: string }).issuer, provider?.issuer);
      secrets.add(provider?.client_secret ?? "");
      urls.push(facts.url);
      assert.equal((await dev.end("SIGINT")).code, 130);
    }
    assert.equal(urls[0], urls[1]);
    assert.equal(secrets.size, 1);
  });

  it("postern dev prints a curl line that works when pasted, the API's URL, the key and the token", async () => {
    const dev = startCommand(["dev", "--data", directory], { env: freePorts, cwd: directory });
    await dev.firstLine();
    const line = /^ {2}(curl .*)$/m.exec(dev.stdout())?.[1] as string;
    const answer = await run("sh", ["-c", `${line} -sS`], { cwd: directory });
    assert.match(answer.stdout, /sample service/);
    const [, api] = /^ {2}API +(\S+)$/m.exec(dev.stdout()) as unknown as [string, string];
    const [, key] = /^ {2}API key +(\S+)$/m.exec(dev.stdout()) as unknown as [string, string];
    assert.match(dev.stdout(), /^ {2}Agent token +postern_at_\w+$/m);
    const headers = ["-H", `Authorization: Bearer ${key}`, "-H", "Service-Version: 2"];
    const { stdout } = await run("curl", ["-sS", ...headers, `${api}/tunnels`]);
    assert.equal((JSON.parse(stdout) as { tunnels: unknown[] }).tunnels.length, 1);
    assert.equal((await dev.end()).code, 0);
  });

  it("postern dev serves the port of a service that is published in the console, until the service is deleted", async () => {
    const service = await startHttpService((_request, response) => response.end("the shop"));
    const dev = startCommand(["dev", "--json", "--data", join(directory, "served")], { env: freePorts });
    try {
      const facts = JSON.parse(await dev.firstLine()) as DevFacts;
      const postern = new Postern({ baseUrl: facts.api_url, apiKey: facts.api_key });
      const backend = await postern.backends.tunnelGroup.create({
        labels: { service: "shop" },
        metadata: `postern dev serves port ${service.port}`,
      });
      const host = `shop.localhost:${facts.https_port}`;
      const edge = await postern.edges.https.create({ hostports: [host] });
      const route = { match_type: "path_prefix", match: "/", backend: { backend_id: backend.id } } as const;
      await postern.edges.https.routes.create(edge.id, route);
      const tunnelsOf = async () => (await postern.backends.tunnelGroup.get(backend.id)).tunnels.length;
      await eventually(tunnelsOf, (count) => count === 1);
      assert.equal(await curl(facts.ca_file, `https://${host}/`), "the shop");
      await postern.backends.tunnelGroup.update(backend.id, { metadata: "another port: 22" });
      await eventually(tunnelsOf, (count) => count === 0);
    } finally {
      await dev.end();
      await service.stop();
    }
  });

  for (const kind of ["tls", "tcp"] as const) {
    it(`postern dev serves the port of a ${kind.toUpperCase()} service that is published in the console`, async () => {
      const service = await startTcpService((socket) => socket.end("the database"));
      const dev = startCommand(["dev", "--json", "--data", join(directory, `served-${kind}`)], { env: freePorts });
      try {
        const facts = JSON.parse(await dev.firstLine()) as DevFacts;
        const postern = new Postern({ baseUrl: facts.api_url, apiKey: facts.api_key });
        const port = kind === "tls" ? facts.https_port : await freePort();
        const backend = await postern.backends.tunnelGroup.create({
          labels: { service: "db" },
          metadata: `postern dev serves port ${service.port}`,
        });
        const edge = { hostports: [`db.localhost:${port}`], backend: { backend_id: backend.id } };
        await (kind === "tls" ? postern.edges.tls.create(edge) : postern.edges.tcp.create(edge));
        const tunnelsOf = async () => (await postern.backends.tunnelGroup.get(backend.id)).tunnels.length;
        await eventually(tunnelsOf, (count) => count === 1);
        const socket =
          kind === "tls"
            ? connectOver(["db"], port, readFileSync(facts.ca_file, "utf8"), { host: "db.localhost" })
            : dialPort(port);
        assert.equal((await readToEnd(await socket)).text, "the database");
      } finally {
        await dev.end();
        await service.stop();
      }
    });
  }

  it("postern dev offers to install its CA once", async () => {
    const data = join(directory, "offer");
    const offers: boolean[] = [];
    for (let start = 0; start < 2; start += 1) {
      const dev = startCommand(["dev", "--data", data], { env: freePorts });
      await dev.firstLine();
      offers.push(/ca --install$/m.test(dev.stdout()));
      await dev.end();
    }
    assert.deepEqual(offers, [true, false]);
  });

  it("postern dev publishes the given port", async () => {
    const upstream = await startHttpService((_request, response) => response.end("my own service"));
    const dev = startCommand(["dev", String(upstream.port), "--json", "--data", directory], { env: freePorts });
    const facts = JSON.parse(await dev.firstLine()) as DevFacts;
    assert.equal(await curl(facts.ca_file, facts.url), "my own service");
    const { stdout } = await run("curl", ["-sS", `${facts.inspector_url}/api/requests/http`]);
    const { requests } = JSON.parse(stdout) as { requests: { request: { uri: string } }[] };
    assert.deepEqual(
      requests.map(({ request }) => request.uri),
      ["/"],
    );
    const at = ["--inspector", new URL(facts.inspector_url).host];
    const added = await runCommand(["agent", "add", "more", String(upstream.port), ...at]);
    assert.equal(await curl(facts.ca_file, added.stdout.trim()), "my own service");
    const stopped = await runCommand(["agent", "stop", ...at]);
    assert.equal(stopped.code, 0, stopped.stderr);
    assert.match(stopped.stdout, /^stopped the agent with its inspector at port \d+\n/);
    assert.ok(stopped.stdout.includes(`\n  ${facts.url}\n`), stopped.stdout);
    assert.equal((await dev.finished).code, 0);
    await upstream.stop();
  });

  it("P8: postern dev stores its secrets in files that only their owner can read", async () => {
    for (const file of ["api-key", "authtoken", "dev-login", "ca.key", "tunnel.key", "sealing-key", "postern.db"]) {
      assert.equal((statSync(join(directory, file)).mode & 0o777).toString(8), "600", file);
    }
  });

  it("postern dev uses the next free ports if the usual ones are taken, and prints them", async () => {
    const usual = { "the management API": 4700, "the HTTPS edge": 8443, "the agent listener": 4443 };
    const taken = await Promise.all(Object.values(usual).map(take));
    const other = mkdtempSync(join(tmpdir(), "postern-dev-"));
    const dev = startCommand(["dev", "--json", "--data", other]);
    const facts = JSON.parse(await dev.firstLine()) as DevFacts;
    const found = {
      "the management API": Number(new URL(facts.api_url).port),
      "the HTTPS edge": facts.https_port,
      "the agent listener": facts.agent_port,
    };
    for (const [what, port] of Object.entries(usual)) {
      const real = found[what as keyof typeof found];
      assert.ok(real > port && real < port + 100, `${what}: ${real}`);
      assert.ok(dev.stderr().includes(`postern: port ${port} is in use, so ${what} uses port ${real}\n`), dev.stderr());
    }
    assert.equal(Number(new URL(facts.url).port), facts.https_port);
    assert.match(await curl(facts.ca_file, facts.url), /sample service/);
    assert.equal((await dev.end()).code, 0);
    for (const server of taken) server.close();
    rmSync(other, { recursive: true });
  });

  for (const [what, variable, flag] of [
    ["the management API", "POSTERN_API_LISTEN", "--api-listen"],
    ["the HTTPS edge", "POSTERN_HTTPS_LISTEN", "--https-listen"],
    ["the agent listener", "POSTERN_AGENT_LISTEN", "--agent-listen"],
  ] as const) {
    it(`postern dev reports in one sentence that the port for ${what} is taken`, async () => {
      const taken = createServer().listen(0, "127.0.0.1");
      await once(taken, "listening");
      const { port } = taken.address() as AddressInfo;
      const ended = await runCommand(["dev", "--data", directory], {
        env: { ...freePorts, [variable]: `127.0.0.1:${port}` },
      });
      assert.equal(ended.code, 2);
      assert.equal(
        ended.stderr,
        `postern: port ${port} is in use, and ${what} needs it: stop the program that uses it, or choose another port with ${flag}\n`,
      );
      taken.close();
    });
  }

  for (const database of databases) {
    it(`postern dev reports in one sentence that another server has the database open, on ${database.name}`, async () => {
      const stored = database.name === "sqlite" ? undefined : await database.create();
      const env = { ...freePorts, ...(stored && { POSTERN_DATABASE: stored.url }) };
      const dev = startCommand(["dev", "--json", "--data", directory], { env });
      const facts = JSON.parse(await dev.firstLine()) as DevFacts;
      for (const command of ["dev", "serve"]) {
        const second = await runCommand([command, "--data", directory], { env });
        assert.equal(second.code, 2, second.stderr);
        assert.match(second.stderr, /^postern: [^\n]*stop it first[^\n]*\n$/);
        if (command === "serve") assert.match(second.stderr, /another process has it open/);
        else assert.ok(second.stderr.includes(` (${facts.url}, API ${facts.api_url}, process `), second.stderr);
      }
      await dev.end();
      await stored?.drop();
    });
  }
});
