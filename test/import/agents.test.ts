/** Imported agent files and documents route traffic like the source: each request reaches the right service. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { startCommand } from "../support/command.ts";
import type { Running } from "../support/command.ts";
import { startPlatform } from "../support/platform.ts";
import type { TestPlatform } from "../support/platform.ts";
import { startHttpService } from "../support/services.ts";
import type { HttpService } from "../support/services.ts";
import { runSharedCommand } from "../support/shared-command.ts";

/** URL, then the status and the service that answers; optionally header fields of the request. */
type Expected = readonly [
  url: string,
  status: number,
  service?: string | undefined,
  headers?: Readonly<Record<string, string>>,
];

interface Case {
  readonly source: string;
  /** Files by name. `A`, `B` and `C` stand for ports of services. */
  readonly files: Readonly<Record<string, string>>;
  /** Agent files that the import writes. */
  readonly agents: readonly string[];
  /** Tunnels of the agents. */
  readonly tunnels: number;
  readonly expected: readonly Expected[];
}

const basic = (text: string) => ({ authorization: `Basic ${btoa(text)}` });

const cases: readonly Case[] = [
  {
    source: "cloudflared",
    files: {
      "config.yml": `
tunnel: shop
originRequest:
  httpHostHeader: inner.example
ingress:
  - { hostname: shop.example.com, path: ^/api/, service: "http://127.0.0.1:A" }
  - { hostname: shop.example.com, path: "\\\\.(css|js)$", service: "http://127.0.0.1:B" }
  - { hostname: shop.example.com, path: /secret, service: "http_status:403" }
  - { hostname: shop.example.com, service: "http://127.0.0.1:C" }
  - { hostname: docs.example.com, path: ^/only, service: "http://127.0.0.1:A" }
  - { hostname: plain.example.com, service: "http://127.0.0.1:B" }
  - service: http_status:404
`,
    },
    agents: ["agent.yml"],
    tunnels: 5,
    expected: [
      ["https://shop.example.com/api/x", 200, "A inner.example"],
      ["https://shop.example.com/api/x.css", 200, "A inner.example"],
      ["https://shop.example.com/api", 200, "C inner.example"],
      ["https://shop.example.com/site.css", 200, "B inner.example"],
      ["https://shop.example.com/site.css/secret", 403],
      ["https://shop.example.com/", 200, "C inner.example"],
      ["https://docs.example.com/only/this", 200, "A inner.example"],
      ["https://docs.example.com/", 404],
      ["https://plain.example.com/any", 200, "B inner.example"],
    ],
  },
  {
    source: "frp",
    files: {
      "frps.toml": `bindPort = 7000\nsubDomainHost = "frp.example.com"\n`,
      "frpc.toml": `
serverAddr = "frp.example.com"
proxies = [
  { name = "site", type = "http", localPort = A, subdomain = "shop", customDomains = ["frp-shop.example.com"] },
  { name = "api", type = "http", localPort = B, subdomain = "shop", locations = ["/api", "/v2/x"], httpUser = "u", httpPassword = "password1" },
  { name = "api-deep", type = "http", localPort = C, subdomain = "shop", locations = ["/api/deep"], hostHeaderRewrite = "deep.example" },
  { name = "short", type = "http", localPort = C, subdomain = "short", httpUser = "u", httpPassword = "short" },
]
`,
    },
    agents: ["agent.yml"],
    tunnels: 4,
    expected: [
      ["https://shop.frp.example.com/", 200, "A shop.frp.example.com"],
      ["https://frp-shop.example.com/x", 200, "A frp-shop.example.com"],
      ["https://shop.frp.example.com/api", 401],
      ["https://shop.frp.example.com/apiary", 401],
      ["https://shop.frp.example.com/apiary", 200, "B shop.frp.example.com", basic("u:password1")],
      ["https://shop.frp.example.com/v2/x", 200, "B shop.frp.example.com", basic("u:password1")],
      ["https://shop.frp.example.com/v2", 200, "A shop.frp.example.com"],
      ["https://shop.frp.example.com/api/deep/x", 200, "C deep.example"],
    ],
  },
  {
    source: "pangolin",
    files: {
      "blueprint.yaml": `
proxy-resources:
  wiki:
    name: Wiki
    protocol: http
    full-domain: wiki.example.com
    rules:
      - { action: allow, match: path, value: /public/* }
      - { action: deny, match: path, value: /denied }
    auth: { basic-auth: { user: reader, password: long-password } }
    targets:
      - { site: one, hostname: 127.0.0.1, method: http, port: A }
      - { site: two, hostname: 127.0.0.1, method: http, port: B, path: /api, path-match: prefix, rewrite-match: stripPrefix }
  closed:
    protocol: http
    full-domain: closed.example.com
    auth: { sso-enabled: true }
    targets: [{ site: one, hostname: 127.0.0.1, method: http, port: C }]
`,
    },
    agents: ["agent-one.yml", "agent-two.yml"],
    tunnels: 3,
    expected: [
      ["https://wiki.example.com/", 401],
      ["https://wiki.example.com/", 200, "A wiki.example.com", basic("reader:long-password")],
      ["https://wiki.example.com/public/page", 200, "A wiki.example.com"],
      ["https://wiki.example.com/denied", 403, undefined, basic("reader:long-password")],
      ["https://wiki.example.com/api/x", 401],
      ["https://wiki.example.com/api/x", 200, "B wiki.example.com /x", basic("reader:long-password")],
      ["https://closed.example.com/", 403],
    ],
  },
];

describe("imported agents", { timeout: 120_000 }, () => {
  const directory = mkdtempSync(join(tmpdir(), "postern-import-agents-"));
  const agents: Running[] = [];
  let services: HttpService[];
  let platform: TestPlatform;
  before(async () => {
    platform = await startPlatform({ drainMs: 50 });
    writeFileSync(join(directory, "ca.pem"), platform.caPem);
    writeFileSync(join(directory, "token"), platform.authtoken);
    services = await Promise.all(
      ["A", "B", "C"].map((name) =>
        startHttpService((request, response) => {
          const isMoved = name === "B" && request.url === "/x";
          response.end(`${name} ${request.headers.host}${isMoved ? " /x" : ""}`);
        }),
      ),
    );
  });
  after(async () => {
    for (const { process, finished } of agents) {
      process.kill();
      await finished;
    }
    await platform.stop();
    for (const service of services) await service.stop();
    rmSync(directory, { recursive: true });
  });

  const env = () => ({
    HOME: directory,
    XDG_CONFIG_HOME: directory,
    POSTERN_API_URL: platform.apiUrl,
    POSTERN_API_KEY: platform.apiKey,
  });

  for (const { source, files, agents: written, tunnels, expected } of cases) {
    it(`imported agents of ${source} serve every URL as before`, async () => {
      const [a, b, c] = services.map(({ port }) => String(port)) as [string, string, string];
      for (const [name, content] of Object.entries(files)) {
        const filled = content.replaceAll(/\bA\b/g, a).replaceAll(/\bB\b/g, b).replaceAll(/\bC\b/g, c);
        writeFileSync(join(directory, name), filled);
      }
      const run = (...args: string[]) => runSharedCommand(args, { cwd: directory, env: env() });
      const imported = await run("import", source, ...Object.keys(files), "--out", source, "--document", source);
      assert.ok([0, 8].includes(imported.code ?? -1), imported.stderr);
      const applied = await run("apply", join(source, "document.yaml"));
      assert.equal(applied.code, 0, applied.stderr);
      const access = ["--server", `127.0.0.1:${platform.agentPort}`, "--ca", "ca.pem", "--token-file", "token"];
      const started = written.map((name) =>
        startCommand(["start", "--all", "--json", "--config", join(directory, source, name), ...access], {
          cwd: directory,
          env: env(),
        }),
      );
      agents.push(...started);
      await online(started, tunnels);
      for (const [url, status, service, headers = {}] of expected) {
        const answer = await platform.request(url, { headers });
        const text = answer.status === 200 ? answer.text : undefined;
        assert.deepEqual([url, answer.status, text], [url, status, service], JSON.stringify(headers));
      }
      const planned = await run("plan", join(source, "document.yaml"));
      assert.equal(planned.code, 0, planned.stdout);
    });
  }

  /** Each tunnel is one line. */
  async function online(started: readonly Running[], count: number): Promise<void> {
    const lines = () => started.reduce((sum, agent) => sum + agent.stdout().split("\n").filter(Boolean).length, 0);
    while (lines() < count) {
      const end = await Promise.race(
        started.flatMap((agent) => [
          new Promise((resolve) => agent.process.stdout?.once("data", resolve)),
          agent.finished,
        ]),
      );
      const ended = started.find(({ process }) => process.exitCode !== null);
      assert.equal(ended, undefined, `${ended?.stderr()} ${JSON.stringify(end)}`);
    }
  }
});
