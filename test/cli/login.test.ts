/** `postern login`, `diagnose` and `service`: how an agent finds its server, and what it stores. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { checkAgentLine } from "../../src/cli/doctor/agent-line.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { createAuthority, issueLeaf } from "../../src/lib/certificates/x509.ts";
import { root, runCommand, startCommand } from "../support/command.ts";
import { startPlatform } from "../support/platform.ts";
import type { TestPlatform } from "../support/platform.ts";
import { startHttpService } from "../support/services.ts";
import { runSharedCommand } from "../support/shared-command.ts";
import { skipWithout } from "../support/programs.ts";

const dayMs = 86_400_000;

describe("the connection to a server", { timeout: 120_000 }, () => {
  const home = mkdtempSync(join(tmpdir(), "postern-login-"));
  const env = { HOME: home, XDG_CONFIG_HOME: join(home, "config") };
  const usual = join(home, "config", "postern", "agent.yml");
  let platform: TestPlatform;
  let server: string;
  let ca: string;
  before(async () => {
    platform = await startPlatform({ drainMs: 50 });
    server = `127.0.0.1:${platform.agentPort}`;
    ca = join(home, "ca.pem");
    writeFileSync(ca, platform.caPem);
    writeFileSync(join(home, "token"), `${platform.authtoken}\n`);
  });
  const silent = createServer((socket) => {
    socket.on("error", () => {});
    socket.end("220 mail.example ESMTP\r\n");
  });
  after(async () => {
    silent.close();
    await platform.stop();
    rmSync(home, { recursive: true });
  });
  /** Starts a TLS server that sends nothing, with a certificate valid from `offsetMs` from now. Returns its port. */
  async function inTls(offsetMs: number): Promise<number> {
    const now = Date.now() + offsetMs;
    const authority = await createAuthority({ commonName: "Own", now });
    const leaf = await issueLeaf(authority, { names: ["localhost"], now, days: 30 });
    writeFileSync(join(home, "own.pem"), authority.certificatePem);
    const server = createTlsServer({ cert: leaf.certificatePem, key: leaf.keyPem }, (socket) => {
      socket.on("error", () => {}).unref();
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    server.unref();
    return (server.address() as AddressInfo).port;
  }
  const logIn = (...args: string[]) =>
    runSharedCommand(["login", ...args, "--token-file", join(home, "token")], { env });
  async function diagnosed(...args: string[]) {
    const { code, stdout } = await runSharedCommand(["diagnose", "--json", ...args], { env });
    const { findings } = JSON.parse(stdout) as { findings: { outcome: string; about: string; message: string }[] };
    return { code, findings, last: findings.at(-1) };
  }

  it("postern login stores server, CA and token after a successful test, and later commands use them", async () => {
    const { code, stdout, stderr } = await logIn(`https://${server}/`, "--ca", ca);
    assert.equal(code, 0, stderr);
    assert.match(stdout, new RegExp(`^logged in to ${server}.*, stored in ${usual}\n$`));
    assert.equal(statSync(usual).mode & 0o777, 0o600);
    assert.equal(readFileSync(join(home, "config", "postern", "127.0.0.1.pem"), "utf8"), platform.caPem);
    const service = await startHttpService((_, response) => response.end("here"));
    const agent = startCommand(["http", String(service.port), "--json"], { env });
    const { url } = JSON.parse(await agent.firstLine()) as { readonly url: string };
    assert.equal((await platform.request(url)).text, "here");
    await agent.end("SIGINT");
    await service.stop();
    // A named data directory selects the server there.
    const here = await runSharedCommand(["http", "3000", "--data", join(home, "nothing")], { env });
    assert.match(here.stderr, /no server: set one with --server/);
  });

  it("postern login stores nothing if the server rejects the token, does not answer, or cannot be trusted", async () => {
    const file = join(home, "other.yml");
    writeFileSync(join(home, "wrong"), "postern_at_wrong");
    const wrong = await runSharedCommand(
      ["login", server, "--ca", ca, "--token-file", join(home, "wrong"), "--config", file],
      { env },
    );
    assert.deepEqual([wrong.code, existsSync(file)], [3, false]);
    const gone = await logIn("127.0.0.1:1", "--ca", ca, "--config", file);
    assert.deepEqual([gone.code, existsSync(file)], [4, false]);
    const untrusted = await logIn(server, "--config", file);
    assert.deepEqual([untrusted.code, existsSync(file)], [4, false]);
    assert.match(untrusted.stderr, /set its CA with --ca FILE/);
  });

  it("postern login and http give up on a server that accepts connections and sends nothing, after --connect-timeout", async () => {
    const at = `localhost:${await inTls(0)}`;
    const way = ["--ca", join(home, "own.pem"), "--connect-timeout", "300ms"];
    // The message is about the connection or the login. On a busy machine either can be the slow one.
    const gaveUp = /no answer within (?:300 ms|0\.3 s)/;
    const login = await logIn(at, ...way, "--config", join(home, "other.yml"));
    assert.equal(login.code, 4);
    assert.match(login.stderr, gaveUp);
    const agent = await runCommand(["http", "3000", "--server", at, ...way, "--token", platform.authtoken], { env });
    assert.equal(agent.code, 4, agent.stderr);
    assert.match(agent.stderr, gaveUp);
  });

  it("postern login preserves the format of a vendor's file", async () => {
    const file = join(home, "ngrok.yml");
    writeFileSync(file, 'version: "2"\n# mine\ntunnels: { web: { addr: 80, proto: http } }\n');
    assert.equal((await logIn(server, "--ca", ca, "--config", file)).code, 0);
    const text = readFileSync(file, "utf8");
    assert.match(text, /^version: "2"\n# mine\ntunnels/);
    assert.match(text, /\nserver_addr: "?127\.0\.0\.1:\d+"?\n/);
    assert.match(text, /\nroot_cas: 127\.0\.0\.1\.pem\n/);
    assert.equal((await runSharedCommand(["config", "check", "--config", file], { env })).code, 0);
  });

  it("postern diagnose performs every step, and finds no fault in a correct setup", async () => {
    const { code, findings } = await diagnosed("--server", server, "--ca", ca, "--token", platform.authtoken);
    assert.equal(code, 0);
    assert.deepEqual(
      findings.map(({ about }) => about),
      ["proxy", "name", "connection", "TLS", "clock", "certificate", "protocol", "latency"],
    );
    assert.ok(findings.every(({ outcome }) => outcome === "fine"));
    const text = await runCommand(["diagnose", "--server", server, "--ca", ca, "--token", platform.authtoken], { env });
    assert.match(text.stdout, /^✓ proxy: no proxy is configured\n✓ name: 127\.0\.0\.1 leads to/);
  });

  it("postern diagnose stops at the failed step, and says what to do", async () => {
    const token = ["--token", platform.authtoken];
    silent.listen(0, "127.0.0.1");
    await once(silent, "listening");
    const other = await createAuthority({ commonName: "Other", now: Date.now() });
    const [ended, notYet] = [await inTls(-400 * dayMs), await inTls(10 * dayMs)];
    const closing = await startHttpService((_, response) => response.end());
    closing.server.on("connect", (_, socket) => {
      socket.end("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
    });
    writeFileSync(join(home, "other.pem"), other.certificatePem);
    for (const [args, code, about, message] of [
      [["--server", "nobody.invalid:443", ...token], 4, "name", /check its spelling/],
      [["--server", "127.0.0.1:1", ...token], 4, "connection", /start the server/],
      [
        ["--server", `127.0.0.1:${(silent.address() as AddressInfo).port}`, ...token],
        4,
        "TLS",
        /use the agent port instead of the HTTPS port/,
      ],
      [["--server", server, "--ca", join(home, "other.pem"), ...token], 4, "certificate", /set the server's CA/],
      [["--server", server, "--ca", ca, "--token", "wrong"], 3, "token", /the server rejects the token/],
      [["--server", server, "--proxy", "http://127.0.0.1:1", ...token], 4, "proxy", /--proxy none/],
      [["--server", server, "--proxy", `http://127.0.0.1:${closing.port}`, ...token], 4, "proxy", /407.*--proxy none/s],
      [
        ["--server", `127.0.0.1:${platform.httpsPort}`, "--ca", ca, ...token],
        4,
        "certificate",
        /use a name from the certificate/,
      ],
      [
        ["--server", `localhost:${platform.httpsPort}`, "--ca", ca, ...token],
        4,
        "protocol",
        /no agent listener answers/,
      ],
      [
        ["--server", `localhost:${ended}`, "--ca", ca, ...token],
        4,
        "clock",
        /renew the certificate, or correct the clock/,
      ],
      [["--server", `localhost:${notYet}`, "--ca", ca, ...token], 4, "clock", /correct the clock of this machine/],
    ] as const) {
      const found = await diagnosed(...args);
      assert.equal(found.code, code, JSON.stringify(found.last));
      assert.equal(found.last?.about, about, JSON.stringify(found.last));
      assert.match(found.last?.message ?? "", message);
    }
    await closing.stop();
  });

  it("postern diagnose warns of a clock that differs from the server's, and by how much", async () => {
    for (const [offsetMs, wanted] of [
      [10 * 60_000, /^this machine's clock is (?:599|600|601) s ahead of the server's, /],
      [-60_000, /^this machine's clock is (?:59|60|61) s behind the server's, /],
      [0, undefined],
    ] as const) {
      const findings = await checkAgentLine({
        server: { host: "127.0.0.1", port: platform.agentPort },
        ca: platform.caPem,
        token: platform.authtoken,
        connect: {},
        clock: { ...systemClock, now: () => Date.now() + offsetMs },
      });
      const warned = findings.find(({ about, outcome }) => about === "clock" && outcome === "warning");
      if (wanted) assert.match(warned?.message ?? "", wanted);
      else assert.equal(warned, undefined);
    }
  });

  it("postern diagnose reports that the network is unavailable", (context) => {
    if (spawnSync("unshare", ["-rn", "true"]).status !== 0) return context.skip("networks cannot be taken away here");
    const args = [
      process.execPath,
      `${root}bin/postern.js`,
      "diagnose",
      "--server",
      "t.example.com:4443",
      "--token",
      "x",
    ];
    const { status, stdout } = spawnSync("unshare", ["-rn", ...args], {
      env: { ...process.env, ...env },
      encoding: "utf8",
    });
    assert.equal(status, 4);
    assert.match(stdout, /✗ name: no name server answers .*: check this machine's network/);
  });

  describe("as a service", { skip: process.platform !== "linux" }, () => {
    const file = join(home, "service.yml");
    const unit = join(home, "config", "systemd", "user", "postern-agent.service");
    before(() => writeFileSync(file, "server: a.example\ntunnels: { web: { addr: 80 } }\n"));
    /** Creates a `systemctl` that records its arguments. */
    function systemctl(): string {
      const bin = join(home, "bin");
      mkdirSync(bin, { recursive: true });
      writeFileSync(join(bin, "systemctl"), `#!/bin/sh\necho "$@" >> "${join(home, "asked")}"\n`);
      chmodSync(join(bin, "systemctl"), 0o755);
      return `${bin}:${process.env["PATH"]}`;
    }

    it("postern service install writes the unit and enables it, and uninstall removes it", async () => {
      const run = (...args: string[]) => runCommand(["service", ...args], { env: { ...env, PATH: systemctl() } });
      assert.match((await run("start")).stderr, /the service is not installed \(no .*postern-agent\.service\)/);
      const installed = await run("install", "--config", file);
      assert.equal(
        installed.stdout,
        `wrote ${unit}\nran systemctl --user daemon-reload\nran systemctl --user enable postern-agent.service\n`,
      );
      const text = readFileSync(unit, "utf8");
      assert.match(text, new RegExp(`^ExecStart=\\S+ ${root}bin/postern\\.js start --all --config ${file}$`, "m"));
      assert.match(text, /^WantedBy=default\.target$/m);
      assert.match((await run("start")).stdout, /ran systemctl --user start postern-agent\.service/);
      assert.match((await run("stop")).stdout, /ran systemctl --user stop postern-agent\.service/);
      assert.match((await run("uninstall")).stdout, new RegExp(`removed ${unit}`));
      assert.equal(existsSync(unit), false);
      assert.deepEqual(readFileSync(join(home, "asked"), "utf8").trim().split("\n"), [
        "--user daemon-reload",
        "--user enable postern-agent.service",
        "--user start postern-agent.service",
        "--user stop postern-agent.service",
        "--user disable --now postern-agent.service",
        "--user daemon-reload",
      ]);
    });

    it("postern service install --dry-run prints the unit and writes nothing, and rejects an invalid file", async () => {
      const dry = await runSharedCommand(["service", "install", "--dry-run", "--system", "--config", file], { env });
      assert.match(dry.stdout, /^# \/etc\/systemd\/system\/postern-agent\.service\n\[Unit\]/);
      assert.match(dry.stdout, /^User=\S+$/m);
      assert.equal(existsSync(unit), false);
      writeFileSync(join(home, "bad.yml"), "tunnels: { web: { adr: 80 } }");
      const bad = await runSharedCommand(["service", "install", "--config", join(home, "bad.yml")], { env });
      assert.deepEqual([bad.code, existsSync(unit)], [2, false]);
    });

    it(
      "postern service install writes a unit in which systemd finds no fault",
      { skip: skipWithout("systemd-analyze") },
      () => {
        for (const whose of [[], ["--system"]]) {
          const dry = spawnSync(
            process.execPath,
            [`${root}bin/postern.js`, "service", "install", "--dry-run", ...whose, "--config", file],
            { env: { ...process.env, ...env }, encoding: "utf8" },
          );
          const path = join(home, "postern-agent.service");
          writeFileSync(path, dry.stdout.replace(/^#.*\n/, ""));
          const judged = spawnSync("systemd-analyze", ["verify", path], { encoding: "utf8" });
          assert.equal(judged.stderr.includes("postern-agent.service:"), false, judged.stderr);
        }
      },
    );
  });
});
