/** The sites of a real Caddy, imported from `caddy adapt`, answer every request like Caddy. */
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { IncomingHttpHeaders, IncomingMessage, Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createServer as createTcpServer, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { createServer, request as requestHttp } from "../../src/lib/http.ts";
import { findProgram, skipWithout } from "../support/programs.ts";
import { runSharedCommand } from "../support/shared-command.ts";
import { startPlatform } from "../support/platform.ts";
import type { TestPlatform } from "../support/platform.ts";

const caddy = findProgram("caddy") ?? "caddy";

interface Case {
  /** Default: a separate host. If set, requests begin with a host. */
  readonly hosts?: readonly string[];
  /** Directives of the site. `A` and `B` stand for addresses of services. */
  readonly site: string;
  /** `METHOD PATH`, or a path. */
  readonly requests: readonly (string | readonly [string, Record<string, string>])[];
}

const basic = (text: string) => ({ authorization: `Basic ${btoa(text)}` });
/** Hash of `long-password`. */
const hash = "HASH";

const cases: Readonly<Record<string, Case>> = {
  "one proxy": { site: "reverse_proxy A", requests: ["/", "/any/path?query=1&b=%20", "POST /form"] },
  "handle blocks": {
    site: `handle /api/* {
      reverse_proxy A
    }
    handle /exact {
      respond "exact" 202
    }
    handle {
      reverse_proxy B
    }`,
    requests: ["/", "/api", "/api/", "/api/users", "/apiary", "/exact", "/exact/not", "/other"],
  },
  "handle_path blocks": {
    site: `handle_path /app/* {
      reverse_proxy A
    }
    handle_path /static/* {
      respond "{path} is static" 200
    }
    reverse_proxy B`,
    requests: ["/app/", "/app/x?y=1", "/app", "/static/a", "/", "/application"],
  },
  "basic auth": {
    site: `basicauth /admin/* {
      bob ${hash}
    }
    reverse_proxy A`,
    requests: [
      "/",
      "/admin",
      "/admin/",
      "/ADMIN/x",
      ["/admin/", basic("bob:long-password")],
      ["/admin/", basic("bob:wrong-password")],
      ["/admin/", basic("ann:long-password")],
      "/%61dmin/x",
    ],
  },
  "basic auth of everything": {
    site: `basicauth {\n bob ${hash}\n}\nreverse_proxy A`,
    requests: ["/", ["/", basic("bob:long-password")]],
  },
  "header fields": {
    site: `header X-Site site
    header /only/* X-Only yes
    header -X-From-Service
    request_header X-Added added
    request_header -X-Secret
    reverse_proxy A {
      header_up X-Up up
      header_up -X-Other
      header_up Host {upstream_hostport}
      header_down X-Down down
      header_down -X-Hidden
    }`,
    requests: ["/", "/only/this", ["/", { "x-secret": "1", "x-other": "2", "x-up": "mine" }]],
  },
  redirects: {
    site: `redir /old /new 301
    redir /query /target?from=query 308
    redir /away https://www.example.com{uri} 307
    reverse_proxy A`,
    requests: ["/old", "/old/", "/query?x=1", "/away?b=2", "/"],
  },
  answers: {
    site: `respond /health 204
    respond /teapot "short and stout" 418
    respond /template "literal \${1 + 1} \${odd!} $ {method} $1"
    @post method POST PUT
    respond @post "read only" 405
    @bot header User-Agent *bot*
    respond @bot 403
    @debug query debug=1
    respond @debug "debug"
    @local remote_ip 127.0.0.0/8
    respond @local "local" 203
    reverse_proxy A`,
    requests: [
      "/health",
      "/teapot",
      "/template",
      "POST /",
      "PUT /x",
      ["/", { "user-agent": "good-bot/1" }],
      "/?debug=1",
      "/",
    ],
  },
  nothing: { site: `respond /only "only"`, requests: ["/", "/only"] },
  rewrites: {
    site: `rewrite /r /rewritten
    rewrite /q/* /target{uri}
    uri /strip/* strip_prefix /strip
    uri /suffix/* strip_suffix .html
    @php path *.php
    rewrite @php /index.php?p=1
    reverse_proxy A`,
    requests: ["/r?keep=1", "/q/x?y=1", "/strip/a/b", "/suffix/page.html?z=1", "/any/file.php?old=1", "/plain"],
  },
  "named matchers": {
    site: `@images {
      path *.png *.jpg
      not path /private/*
    }
    header @images Cache-Control max-age=60
    @versions path_regexp ^/v[0-9]+/
    respond @versions "versions" 410
    @deep path /a/*/c
    respond @deep "deep"
    reverse_proxy A`,
    requests: ["/x.png", "/private/x.png", "/v1/", "/v/", "/a/b/c", "/a/b/b/c", "/x.jpeg"],
  },
  "nested routes": {
    site: `route /nested/* {
      uri strip_prefix /nested
      respond /inner "inner"
      reverse_proxy A
    }
    reverse_proxy B`,
    requests: ["/nested/inner", "/nested/other", "/inner", "/nested"],
  },
  "several upstreams": { site: `reverse_proxy A A {\n lb_policy round_robin\n}`, requests: ["/", "/x"] },
  "hosts inside of a site": {
    site: `@a host a.wild.example.com
    handle @a {
      handle_path /api/* {
        reverse_proxy B
      }
      reverse_proxy A
    }
    @b host b.wild.example.com
    handle @b {
      reverse_proxy B
    }
    @c host c.wild.example.com
    respond @c "c" 410
    handle {
      respond "none" 404
    }`,
    hosts: ["*.wild.example.com", "single.example.com"],
    requests: [
      "a.wild.example.com/",
      "a.wild.example.com/api/x",
      "b.wild.example.com/api/x",
      "c.wild.example.com/",
      "d.wild.example.com/x",
      "single.example.com/api/x",
    ],
  },
  compression: { site: `encode gzip\nreverse_proxy A`, requests: ["/short", ["/long", { "accept-encoding": "gzip" }]] },
};

interface Seen {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

describe("an imported Caddy site", { skip: skipWithout("caddy") }, () => {
  const directory = mkdtempSync(join(tmpdir(), "postern-caddy-"));
  const services = ["A", "B"].map((name) => startService(name));
  let program: ChildProcess | undefined;
  let platform: TestPlatform;
  let port: number;
  before(async () => {
    port = await freePort();
    const addresses = await Promise.all(services.map(async (service) => `127.0.0.1:${await portOf(service)}`));
    const hashed = execFileSync(caddy, ["hash-password", "--plaintext", "long-password"]).toString().trim();
    const sites = Object.entries(cases).map(([name, { site, hosts = [hostOf(name)] }]) => {
      const filled = site
        .replaceAll(/\bA\b/g, addresses[0] as string)
        .replaceAll(/\bB\b/g, addresses[1] as string)
        .replaceAll(hash, hashed);
      return `${hosts.map((host) => `http://${host}:${port}`).join(", ")} {\n  bind 127.0.0.1\n  ${filled}\n}\n`;
    });
    const file = join(directory, "Caddyfile");
    writeFileSync(
      file,
      `{\n  admin off\n  auto_https off\n  storage file_system ${directory}/storage\n}\n${sites.join("")}`,
    );
    const adapted = execFileSync(caddy, ["adapt", "--config", file], { stdio: ["ignore", "pipe", "ignore"] });
    writeFileSync(join(directory, "caddy.json"), adapted);
    const env = {
      PATH: process.env["PATH"] ?? "",
      HOME: directory,
      XDG_DATA_HOME: directory,
      XDG_CONFIG_HOME: directory,
    };
    program = spawn(caddy, ["run", "--config", join(directory, "caddy.json")], { env, stdio: "ignore" });
    platform = await startPlatform({ allowLocalUpstreams: true });
    await answering(port);
    const options = { cwd: directory, env: { POSTERN_API_URL: platform.apiUrl, POSTERN_API_KEY: platform.apiKey } };
    const imported = await runSharedCommand(["import", "caddy", "caddy.json", "--out", "out"], options);
    assert.equal(imported.code, 0, imported.stdout + imported.stderr);
    const secrets = readFileSync(join(directory, "out/secrets.env"), "utf8").replaceAll(
      /^(IMPORT_\w+)=$/gm,
      "$1='bob:long-password'",
    );
    writeFileSync(join(directory, "filled.env"), secrets);
    const applied = await runSharedCommand(["apply", "out/document.yaml", "--env-file", "filled.env"], options);
    assert.equal(applied.code, 0, applied.stderr);
    const again = await runSharedCommand(["plan", "out/document.yaml", "--env-file", "filled.env"], options);
    assert.equal(again.code, 0, again.stdout);
  });
  after(async () => {
    program?.kill();
    await platform.stop();
    for (const service of services) service.close();
    rmSync(directory, { recursive: true });
  });

  it("an imported Caddy site answers 502 for a path that its edge cannot route to the right service", async () => {
    const answer = await platform.request(`https://${hostOf("handle blocks")}/API/users`);
    assert.equal(answer.status, 502);
  });

  for (const [name, { hosts, requests }] of Object.entries(cases)) {
    it(`an imported Caddy site with ${name} answers like Caddy`, async () => {
      for (const one of requests) {
        const [line, headers] = typeof one === "string" ? [one, {}] : one;
        const [method, target] = line.includes(" ") ? (line.split(" ") as [string, string]) : (["GET", line] as const);
        const host = hosts ? target.slice(0, target.indexOf("/")) : hostOf(name);
        const path = hosts ? target.slice(target.indexOf("/")) : target;
        const expected = await askCaddy(port, host, method, path, headers);
        const answer = await platform.request(`https://${host}${path}`, { method, headers });
        const seen = seenOf(answer.status, answer.headers, answer.body);
        assert.deepEqual({ line, ...seen }, { line, ...expected });
      }
    });
  }
});

function hostOf(name: string): string {
  return `${name.replaceAll(/[^a-z]+/g, "-")}.example.com`;
}

/** Returns the response that a visitor sees, and the request that the service saw. */
function seenOf(status: number, headers: IncomingHttpHeaders, body: Buffer): Seen {
  const names = [
    "location",
    "x-site",
    "x-only",
    "x-from-service",
    "x-down",
    "x-hidden",
    "cache-control",
    "content-encoding",
  ];
  const kept = Object.fromEntries(
    names.filter((name) => headers[name] !== undefined).map((name) => [name, headers[name]]),
  );
  const text = headers["content-encoding"] === undefined ? body.toString() : "";
  // Each program has its own text for errors.
  if (status === 401) delete kept["cache-control"];
  return { status, headers: kept, body: status === 401 ? "" : text };
}

async function askCaddy(
  port: number,
  host: string,
  method: string,
  path: string,
  headers: Record<string, string>,
): Promise<Seen> {
  const sent = requestHttp({ host: "127.0.0.1", port, method, path, headers: { host, ...headers }, agent: false });
  sent.end();
  const [answer] = (await once(sent, "response")) as [IncomingMessage];
  const parts: Buffer[] = [];
  for await (const part of answer as AsyncIterable<Buffer>) parts.push(part);
  return seenOf(answer.statusCode ?? 0, answer.headers, Buffer.concat(parts));
}

/** Starts a service that returns its request, without fields that differ for each connection. */
function startService(name: string): Server {
  const shown = ["x-added", "x-secret", "x-up", "x-other"];
  const server = createServer((request, response) => {
    const headers = Object.fromEntries(shown.map((one) => [one, request.headers[one]]));
    const host = request.headers.host?.startsWith("127.0.0.1:")
      ? "own address"
      : request.headers.host?.replace(/:\d+$/, "");
    response.setHeader("x-from-service", name);
    response.setHeader("x-hidden", "hidden");
    response.setHeader("content-type", "text/plain");
    response.end(
      JSON.stringify({
        name,
        method: request.method,
        url: request.url,
        host,
        headers,
        padding: "x".repeat(request.url === "/long" ? 2000 : 0),
      }),
    );
  });
  server.listen(0, "127.0.0.1");
  return server;
}

async function portOf(server: Server): Promise<number> {
  if (!server.listening) await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

async function freePort(): Promise<number> {
  const server = createTcpServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** Resolves when something listens at the port. */
async function answering(port: number): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const socket = connect(port, "127.0.0.1");
    const isOpen = await new Promise<boolean>((resolve) => {
      socket.once("connect", () => resolve(true));
      socket.once("error", () => resolve(false));
    });
    socket.destroy();
    if (isOpen) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.fail("Caddy does not listen");
}
