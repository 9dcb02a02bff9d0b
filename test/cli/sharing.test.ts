/** Options that share a service with people, and `--print-config`, which prints them as configuration. */
import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileTunnels } from "../../src/cli/agent/file-tunnels.ts";
import { isPublicUrl } from "../../src/cli/agent/sharing.ts";
import { renderQr } from "../../src/cli/qr/render-qr.ts";
import { readAgentFiles } from "../../src/cli/agent-files/read-agent-files.ts";
import { root, startCommand } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { startPlatform } from "../support/platform.ts";
import type { TestPlatform } from "../support/platform.ts";
import { skipWithout } from "../support/programs.ts";
import { startHttpService } from "../support/services.ts";
import type { HttpService } from "../support/services.ts";
import { runSharedCommand } from "../support/shared-command.ts";
import { startTmux } from "../support/tmux.ts";

const everything = [
  "http 3000 --url https://b.example.com --description d --pooling --binding public --cidr-allow 192.0.2.0/24",
  "--cidr-deny 192.0.2.1/32 --proxy-protocol 2 --password=correct-horse --basic-auth ann:battery-staple",
  "--upstream-timeout 90s --encoded-slashes --verify-webhook github --verify-webhook-secret s --ua-filter-allow a",
  "--ua-filter-deny b --request-header-add x-a:b --request-header-remove x-b --response-header-add x-c:d",
  "--response-header-remove x-d --compression --circuit-breaker 0.5 --websocket-tcp-converter",
  "--host-header rewrite --inspect false",
].join(" ");

const basic = (user: string, password: string) => ({
  authorization: `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`,
});

describe("sharing a service", { timeout: 180_000 }, () => {
  const home = mkdtempSync(join(tmpdir(), "postern-sharing-"));
  let platform: TestPlatform;
  let service: HttpService;
  before(async () => {
    [platform, service] = await Promise.all([
      startPlatform({
        drainMs: 50,
        oauthApps: { github: { clientId: "app", clientSecret: "secret", baseUrl: "", graphVersion: "" } },
      }),
      startHttpService((_request, response) => response.end("shared")),
    ]);
  });
  after(async () => {
    await platform.stop();
    await service.stop();
    rmSync(home, { recursive: true });
  });
  const env = () => ({ POSTERN_DATA: platform.directory, XDG_CONFIG_HOME: home });
  const share = (...args: string[]) => startCommand(["http", String(service.port), ...args], { env: env() });
  const printed = (...args: string[]) => runSharedCommand([...args, "--print-config"], { env: env() });

  it("--password generates a password, prints it once, and the edge then requires it", async () => {
    const agent = share("--password", "--json");
    const { url, user, password } = JSON.parse(await agent.firstLine());
    assert.equal(user, "guest");
    assert.match(password, /^[0-9a-z]{4}(?:-[0-9a-z]{4}){3}$/);
    assert.equal((await platform.request(url)).status, 401);
    assert.equal((await platform.request(url, { headers: basic(user, password) })).text, "shared");
    const ended = await agent.end("SIGINT");
    assert.ok(!ended.stderr.includes(password));
    const own = share("--password=correct-horse");
    await eventually(own.stdout, (text) => text.includes("Visitors log in as guest with the password correct-horse\n"));
    await own.end("SIGINT");
  });

  it("--login and --allow-email compile to the login module and its lists", async () => {
    const agent = share(
      "--login",
      "github",
      "--allow-email",
      "*@Example.com",
      "--allow-email",
      "ann@example.org",
      "--json",
    );
    const { url } = JSON.parse(await agent.firstLine());
    const visited = await platform.request(url, { headers: { accept: "text/html" } });
    assert.equal(visited.status, 302);
    assert.match(
      String(visited.headers["location"]),
      /^https:\/\/github\.com\/login\/oauth\/authorize\?.*client_id=app/,
    );
    await agent.end("SIGINT");
    const { stdout } = await printed("http", "3000", "--login", "github", "--allow-email", "*@Example.com", "--json");
    assert.deepEqual(JSON.parse(stdout).agent_file.tunnels.web.oauth, {
      provider: "github",
      allow_domains: ["example.com"],
    });
    const unknown = await share("--login", "google").finished;
    assert.equal(unknown.code, 7);
    assert.match(unknown.stderr, /there is no app for google: register one .*--oauth-apps/);
    for (const [args, message] of [
      [["--allow-email", "*@example.com"], /--allow-email and --login must be given together/],
      [["--login", "github", "--allow-email", "example.com"], /must be an e-mail address, or \*@ and a domain/],
      [["--login", "github", "--oauth", "google"], /--login and --oauth set the same/],
      [["--password=short"], /--password must have 8 to 128 bytes$/m],
    ] as const) {
      const refused = await runSharedCommand(["http", "3000", ...args], { env: env() });
      assert.equal(refused.code, 2);
      assert.match(refused.stderr, message);
    }
  });

  it("--expires ends the command and its URL with exit code 0 and a sentence", async () => {
    const agent = share("--expires", "3s", "--json");
    const { url } = JSON.parse(await agent.firstLine());
    const ended = await agent.finished;
    assert.equal(ended.code, 0, ended.stderr);
    assert.match(ended.stdout, /\n\{"ended":"expired"\}\n$/);
    assert.equal((await platform.request(url)).status, 404);
    const text = await share("--expires", "300ms").finished;
    assert.match(text.stdout, /^The tunnel has expired \(--expires\)\.$/m);
    const tcp = await startCommand(["tcp", String(service.port), "--expires", "300ms"], { env: env() }).finished;
    assert.deepEqual([tcp.code, /has expired/.test(tcp.stdout)], [0, true]);
  });

  it("--once serves only the first visitor, and ends after the visitor's session", async () => {
    const agent = share("--once=2s", "--json");
    const { url } = JSON.parse(await agent.firstLine());
    const first = await platform.request(url);
    const cookie = String(first.headers["set-cookie"]);
    assert.equal(first.text, "shared");
    assert.match(cookie, /^__Host-one-visitor=[0-9a-z]{32}; Path=\/; HttpOnly; SameSite=Lax; Secure$/);
    const value = cookie.split(";")[0] as string;
    const others = [{}, { cookie: "__Host-one-visitor=x" }, { cookie: `${value}x` }, { cookie: `a=${value}` }];
    for (const headers of others) {
      const other = await platform.request(url, { headers });
      assert.deepEqual([other.status, other.headers["set-cookie"]], [403, undefined]);
    }
    const again = await platform.request(url, { headers: { cookie: `a=b; ${value}` } });
    assert.deepEqual([again.text, again.headers["set-cookie"]], ["shared", undefined]);
    const ended = await agent.finished;
    assert.equal(ended.code, 0, ended.stderr);
    assert.match(ended.stdout, /\n\{"ended":"visited"\}\n$/);
    const refused = await runSharedCommand(["http", "3000", "--once", "--label", "a=b"], { env: env() });
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /--once does not work with/);
  });

  it("--qr prints a code of a public URL, and explains why there is none for other URLs", async () => {
    const agent = share("--qr", "--url", "https://qr.example.com");
    const url = (await agent.firstLine()).split(" ")[0] as string;
    const lines = renderQr(url);
    await eventually(agent.stdout, (text) => text.includes(lines.join("\n")));
    await agent.end("SIGINT");
    const local = share("--qr");
    await eventually(local.stdout, (text) => text.includes("No QR code: the URL works only on this machine"));
    await local.end("SIGINT");
    for (const [given, isPublic] of [
      ["https://a.example.com/", true],
      ["https://a.localhost:8443", false],
      ["https://localhost", false],
      ["https://web.internal", false],
      ["http://127.0.0.1:3000", false],
      ["http://[::1]:3000", false],
      ["https://192.0.2.1", true],
    ] as const) {
      assert.equal(isPublicUrl(given), isPublic, given);
    }
  });

  it("--qr and --password are on the live screen of a terminal", { skip: skipWithout("tmux") }, async () => {
    const terminal = await startTmux(100, 50, env());
    const options = "--qr --password=correct-horse --url https://screen.example.com";
    await terminal.type(`${process.execPath} ${join(root, "bin/postern.js")} http ${service.port} ${options}`);
    const shown = await terminal.until((seen) => seen.includes("▄▄▄▄▄"));
    assert.match(shown, /Visitors log in as guest with the password correct-horse/);
    await terminal.stop();
  });

  it("--open opens the URL in a browser once", { skip: process.platform !== "linux" }, async () => {
    const opened = join(home, "opened");
    const opener = join(home, "xdg-open");
    writeFileSync(opener, `#!/bin/sh\necho "$1" >> ${opened}\n`);
    chmodSync(opener, 0o755);
    const agent = startCommand(["http", String(service.port), "--open", "--json"], {
      env: { ...env(), PATH: `${home}:${process.env["PATH"]}` },
    });
    const { url } = JSON.parse(await agent.firstLine());
    await eventually(
      () => {
        try {
          return readFileSync(opened, "utf8");
        } catch {
          return "";
        }
      },
      (text) => text === `${url}\n`,
    );
    await agent.end("SIGINT");
  });

  it("--print-config writes an agent file that creates the same tunnel, for every option", async () => {
    const cas = join(home, "cas.pem");
    const policy = join(home, "policy.yaml");
    writeFileSync(cas, platform.caPem);
    writeFileSync(policy, "on_http_request: []\n");
    const cases: readonly (readonly string[])[] = [
      ["http", "3000"],
      ["http", "3000", "/api=3001", "--scheme", "https", "--scheme", "http", "--hostname", "a.example.com"],
      [
        "http",
        "https://localhost:3000",
        "--upstream-tls-verify",
        "--upstream-tls-verify-cas",
        cas,
        "--upstream-server-name",
        "x.example",
      ],
      ["http", "3000", "--label", "app=web", "--label", "dc=eu", "--metadata", "m"],
      [everything, "--traffic-policy-file", policy, "--mutual-tls-cas", cas].flatMap((text) => text.split(" ")),
      [
        "http",
        "3000",
        "--oidc",
        "https://i.example",
        "--oidc-client-id",
        "c",
        "--oidc-client-secret",
        "s",
        "--oidc-allow-domain",
        "a.b",
      ],
      ["http", "3000", "--login", "github", "--allow-email", "*@example.com", "--subdomain", "app"],
      ["http", "3000", "--saml", "https://idp.example/metadata", "--saml-group", "g", "--saml-force-authn", "true"],
      ["tcp", "5432", "--url", "tcp://t.example.com:20022", "--proxy-protocol", "1"],
      ["tls", "8443", "--url", "tls://c.example.com", "--terminate-at", "edge", "--mutual-tls-cas", cas],
    ];
    for (const args of cases) {
      const { code, stdout, stderr } = await printed(...args);
      assert.equal(code, 0, stderr);
      const file = join(home, "printed.yml");
      writeFileSync(file, stdout.split("\n---\n")[0] as string);
      const { tunnels, issues } = fileTunnels(readAgentFiles([file]));
      assert.deepEqual(issues, [], args.join(" "));
      const checked = await runSharedCommand(["config", "check", "--config", file], { env: env() });
      assert.equal(checked.code, 0, checked.stderr);
      // The file's tunnel, printed again from its own values, equals the one of the flags.
      const again = await runSharedCommand([...args, "--print-config", "--json"], { env: env() });
      const { notes } = JSON.parse(again.stdout);
      assert.ok(Array.isArray(notes));
      const flags = await tunnelsOfFlags(args);
      assert.deepEqual(JSON.parse(JSON.stringify(tunnels[0]?.tunnels.map(plain))), flags, args.join(" "));
    }
  });

  it("--print-config writes a document whose edge decides like the tunnel", async () => {
    const args = ["--password=correct-horse", "--response-header-add", "x-by:edge", "--cidr-allow", "127.0.0.0/8"];
    const host = `printed.localhost:${platform.httpsPort}`;
    const { stdout } = await printed("http", String(service.port), ...args, "--url", `https://${host}`, "--json");
    const { document, notes } = JSON.parse(stdout);
    assert.deepEqual(notes, []);
    const applied = await platform.api("POST", "/apply", document);
    assert.equal(applied.status, 200, applied.text);
    const again = await platform.api("POST", "/plan", document);
    assert.ok(
      again.body.changes.every(({ action }: { action: string }) => action === "unchanged"),
      again.text,
    );
    const agent = startCommand(["http", String(service.port), "--label", "service=web", "--json"], { env: env() });
    await agent.firstLine();
    const asked = await eventually(
      () => platform.request(`https://${host}/`, { headers: basic("guest", "correct-horse") }),
      ({ status }) => status !== 503,
    );
    assert.deepEqual([asked.text, asked.headers["x-by"]], ["shared", "edge"]);
    assert.equal((await platform.request(`https://${host}/`)).status, 401);
    await agent.end("SIGINT");
  });

  it("--print-config writes no document that would admit more people, and never the token", async () => {
    const lists = [
      "--oidc",
      "https://i.example",
      "--oidc-client-id",
      "c",
      "--oidc-client-secret",
      "s",
      "--oidc-allow-email",
      "a@b.c",
    ];
    const { stdout } = await printed("http", "3000", ...lists, "--json", "--expires", "2h");
    const { document, notes } = JSON.parse(stdout);
    assert.equal(document, null);
    assert.match(notes.join(), /--oidc-allow-email .* traffic policy.*--expires has no key/);
    const other = await runSharedCommand(
      ["http", "3000", "--server", "t.example.com:4443", "--token", "postern_at_secret", "--print-config"],
      { env: { XDG_CONFIG_HOME: home } },
    );
    assert.equal(other.code, 0, other.stderr);
    assert.match(other.stdout, /^server: t\.example\.com:4443$/m);
    assert.ok(!other.stdout.includes("postern_at_secret"));
  });
});

/** Returns the tunnels that the command itself computes from the flags. */
async function tunnelsOfFlags([kind = "", ...args]: readonly string[]): Promise<unknown> {
  const { readSettings } = await import("../../src/cli/settings/read-settings.ts");
  const { withSharing } = await import("../../src/cli/agent/sharing.ts");
  const { tunnelsOf } = await import("../../src/cli/agent/tunnel-of.ts");
  const { readAnyFile } = await import("../../src/cli/agent-files/tunnel-values.ts");
  const { commands } = await import("../../src/cli/commands.ts");
  const { settings } = await import("../../src/settings/settings.ts");
  const command = await commands[kind]?.load([]);
  assert.ok(command);
  const { values, positionals } = await readSettings(command.settings, {
    args,
    env: {},
    command: "http",
    known: settings,
  });
  const made = tunnelsOf("web", kind as "http", positionals, withSharing(values as never).values, readAnyFile);
  return JSON.parse(JSON.stringify(made.map(plain)));
}

/** Removes the fields that differ between two readings of one target. */
function plain({ upstream, ...tunnel }: { readonly upstream: { readonly local?: unknown } }): object {
  const { local, ...rest } = upstream;
  return { ...tunnel, upstream: { ...rest, isLocal: local !== undefined } };
}
