/** `postern config` checks agents' files, edits them and converts them to another format. */
import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { runCommand, startCommand } from "../support/command.ts";
import { runSharedCommand } from "../support/shared-command.ts";

describe("postern config", { timeout: 120_000 }, () => {
  const home = mkdtempSync(join(tmpdir(), "postern-config-"));
  after(() => rmSync(home, { recursive: true }));
  const env = { HOME: home, XDG_CONFIG_HOME: join(home, "config") };
  const usual = join(home, "config", "postern", "agent.yml");
  const config = (...args: string[]) => runSharedCommand(["config", ...args], { env });
  function file(name: string, text: string): string {
    const path = join(home, name);
    writeFileSync(path, text);
    return path;
  }

  it("postern config check prints the path of the file, and each fault with line and column", async () => {
    const missing = await config("check");
    assert.deepEqual([missing.code, missing.stdout], [2, ""]);
    assert.equal(missing.stderr, `postern: no file "${usual}": create it, or set another file with --config\n`);
    assert.equal((await config("check", "--config", join(home, "nowhere.yml"))).code, 2);
    const fine = file("fine.yml", 'version: "2"\ntunnels: { web: { proto: http, addr: 80 } }\n');
    const found = await config("check", "--config", fine);
    assert.equal(found.stdout, `${fine} is an ngrok file of version 2\nno errors, tunnels: web\n`);
    assert.equal(found.code, 0);
    const bad = file("bad.yml", "tunnels:\n  web:\n    addr: 80\n    compresion: true\n");
    const wrong = await config("check", "--config", bad);
    assert.equal(wrong.code, 2);
    assert.match(wrong.stdout, /bad\.yml:4:5: unknown key "compresion": did you mean "compression"\?/);
    const told = JSON.parse((await config("check", "--json", "--config", bad)).stdout);
    assert.deepEqual([told.issues[0].line, told.issues[0].column, told.files[0].format], [4, 5, "own"]);
  });

  it("postern config init writes a commented example that is valid as written, and with every setting enabled", async () => {
    const path = join(home, "example.yml");
    const made = await config("init", "--config", path);
    assert.equal(made.stdout, `wrote ${path}\nNext: set "addr" of the tunnel, then run \`postern start --all\`\n`);
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.match((await config("check", "--config", path)).stdout, /no errors, tunnels: web\n$/);
    const text = readFileSync(path, "utf8");
    const all = text.replaceAll(/^( *)#(?=[\w-]+:)/gm, "$1").replace("t.example.com.pem", "system");
    assert.ok(
      all.split("\n").every((line) => /^ *(?:# |#$|[\w-]+:|$)/.test(line)),
      all,
    );
    file("policy.yaml", "on_http_request: []\n");
    const checked = await config("check", "--config", file("all.yml", all));
    assert.match(checked.stdout, /no errors, tunnels: web, docs, database, behind-edges\n$/);
  });

  it("postern config init replaces a file only with --force, and keeps the login", async () => {
    const path = file("mine.yml", "server: t.example.com:4443\nca: system\nauthtoken: mine\ntunnels: {}\n");
    const refused = await config("init", "--config", path);
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /exists: change it with `postern config edit`, or replace it with --force/);
    assert.match(readFileSync(path, "utf8"), /tunnels: \{\}/);
    assert.equal((await config("init", "--force", "--config", path)).code, 0);
    assert.match(
      readFileSync(path, "utf8"),
      /^# Agent file.*^server: t\.example\.com:4443\nca: system\nauthtoken: mine\n$/ms,
    );
    assert.equal((await config("check", "--config", path)).code, 0);
  });

  it("postern start and postern service name postern config init when there is no file", async () => {
    for (const args of [
      ["start", "--all"],
      ["service", "install", "--dry-run"],
    ]) {
      const ended = await runSharedCommand(args, { env: { HOME: home, XDG_CONFIG_HOME: join(home, "empty") } });
      assert.equal(ended.code, 2);
      assert.match(ended.stderr, /^postern: no agent file ".*agent\.yml": write one with `postern config init`, or/);
    }
  });

  it("postern config check finds what postern start rejects, and warns of the same keys", async () => {
    const way = ["--server", "127.0.0.1:1", "--token", "x"];
    for (const [text, code, message] of [
      ["log_level: loud", 2, /log_level"? must be one of/],
      ["server: a:b:c", 2, /server"? must be HOST:PORT/],
      ["ca: nowhere.pem", 2, /ENOENT/],
      ["version: 2\ncrl_url: http://a.example", 2, /"crl_url" is not supported/],
      ["version: 2\nproxy_url: ftp://a", 2, /proxy(?:_url")? must be/],
      ["version: 2\nregion: eu\nproxy_url: ''", 0, /"region" is ignored: .*\n.*"proxy_url" is ignored: /],
    ] as const) {
      const path = file("same.yml", `${text}\n`);
      const checked = await config("check", "--config", path);
      assert.equal(checked.code, code, text);
      assert.match(checked.stdout, message);
      // Without a tunnel to start, the next step rejects the arguments.
      const started = await runSharedCommand(["start", "--config", path, ...way], { env });
      assert.equal(started.code, 2);
      assert.match(started.stderr, code === 0 ? /give names of tunnels/ : message);
      if (code === 0) assert.match(started.stderr, message);
    }
  });

  for (const [encoding, bytes] of [
    ["UTF-16", Buffer.from("\ufeffauthtoken: x\n", "utf16le")],
    ["not UTF-8", Buffer.from("metadata: caf\xe9\n", "latin1")],
  ] as const) {
    it(`an agent file in ${encoding} is rejected by name`, async () => {
      const path = join(home, "encoded.yml");
      writeFileSync(path, bytes);
      for (const args of [
        ["config", "check", "--config", path],
        ["start", "--all", "--config", path],
      ]) {
        const ended = await runSharedCommand(args, { env });
        assert.equal(ended.code, 2);
        assert.match(ended.stderr, new RegExp(`cannot read ".*encoded.yml": it is ${encoding}: save it as UTF-8`));
      }
    });
  }

  it("postern config add-authtoken stores the token for its owner alone, and leaves the rest of the file unchanged", async () => {
    assert.equal((await config("add-authtoken", "first-token")).code, 0);
    assert.equal(readFileSync(usual, "utf8"), "authtoken: first-token\n");
    assert.equal(statSync(usual).mode & 0o777, 0o600);
    for (const [before, later] of [
      ["# mine\nserver: a.example # there\n", "# mine\nserver: a.example # there\nauthtoken: tok\n"],
      ["authtoken: old # from Ann\nserver:  a\n", "authtoken: tok # from Ann\nserver:  a\n"],
      ['version: "2"\nauthtoken: "old"\ntunnels: {}\n', 'version: "2"\nauthtoken: tok\ntunnels: {}\n'],
      [
        "version: 3\nagent:\n  # the box\n  metadata: box\nendpoints: []\n",
        "version: 3\nagent:\n  # the box\n  authtoken: tok\n  metadata: box\nendpoints: []\n",
      ],
      ["version: 3\n", "version: 3\nagent:\n  authtoken: tok\n"],
      ["{ server: a.example }\n", "{ server: a.example, authtoken: tok }\n"],
    ] as const) {
      const path = file("token.yml", before);
      chmodSync(path, 0o644);
      const { code, stderr } = await config("add-authtoken", "tok", "--config", path);
      assert.equal(code, 0, stderr);
      assert.equal(readFileSync(path, "utf8"), later);
      assert.equal(statSync(path).mode & 0o777, 0o600);
    }
  });

  it("postern config add-authtoken reads the token from stdin, and follows a link to the file", async () => {
    const path = file("linked.yml", "server: a.example\n");
    symlinkSync(path, join(home, "link.yml"));
    const run = startCommand(["config", "add-authtoken", "--config", join(home, "link.yml")], {
      env,
      stdio: ["pipe", "pipe", "pipe"],
    });
    run.process.stdin?.end("piped-token\n");
    assert.equal((await run.finished).code, 0);
    assert.equal(readFileSync(path, "utf8"), "server: a.example\nauthtoken: piped-token\n");
    assert.equal((await config("add-authtoken", "two words")).code, 2);
  });

  it("postern config edit opens the editor on the file, and then reports faults", async () => {
    const editor = file("editor.sh", '#!/bin/sh\nprintf "tunnels:\\n  web: { adr: 1 }\\n" > "$2"\n');
    chmodSync(editor, 0o755);
    const path = join(home, "new", "agent.yml");
    const ended = await runCommand(["config", "edit", "--config", path], { env: { ...env, EDITOR: `${editor} -x` } });
    assert.equal(ended.code, 2);
    assert.match(ended.stdout, /agent\.yml:2:10: unknown key "adr"/);
    const none = await runCommand(["config", "edit", "--config", path], { env: { ...env, EDITOR: "/nowhere/ed" } });
    assert.match(none.stderr, /cannot start the editor "\/nowhere\/ed"/);
  });

  const second = `# our shop
version: "2"
authtoken: token # Ann's
server_addr: t.example.com:4443
root_cas: host
metadata: box 7
update_check: false
tunnels:
  # the front
  web:
    proto: http
    addr: 3000
    basic_auth: ["ann:longenough"]
`;

  it("postern config upgrade converts version 2 to Postern's own format, prints the result and keeps the old file", async () => {
    const path = file("second.yml", second);
    const dry = await config("upgrade", "--dry-run", "--config", path);
    assert.equal(dry.code, 0, dry.stderr);
    assert.match(dry.stdout, /^- version: "2"$/m);
    assert.match(dry.stdout, /^\+ server: t\.example\.com:4443$/m);
    assert.equal(readFileSync(path, "utf8"), second);
    await config("upgrade", "--config", path);
    const later = readFileSync(path, "utf8");
    assert.match(later, /^server: t\.example\.com:4443\nca: system\nsession_metadata: box 7\n/m);
    for (const kept of ["# Ann's", "# the front", 'basic_auth: [ "ann:longenough" ]']) {
      assert.ok(later.includes(kept) || later.includes(kept.replace("[ ", "[").replace(" ]", "]")), kept);
    }
    assert.doesNotMatch(later, /version|update_check/);
    assert.equal(readFileSync(`${path}.2.bak`, "utf8"), second);
    assert.equal((await config("check", "--config", path)).code, 0);
    assert.match((await config("upgrade", "--config", path)).stderr, /already has this format/);
  });

  it("postern config upgrade prints no secret of the file", async () => {
    const path = file(
      "secrets.yml",
      `version: "2"
authtoken: canary-1 # Ann's
api_key: "canary-2"
proxy_url: http://ann:canary-3@proxy.example.com
tunnels:
  web:
    addr: 80
    basic_auth:
      - "ann:canary-4"
      - 'bob:canary-5'
    verify_webhook: { provider: github, secret: canary-6 }
    oauth: { provider: google, client_id: a, client_secret: "canary-7" }
  api: { addr: 81, basic_auth: [ann:canary-8, bob:canary-9] }
`,
    );
    const { code, stdout, stderr } = await config("upgrade", "--config", path);
    assert.equal(code, 0, stderr);
    assert.doesNotMatch(stdout + stderr, /canary/);
    assert.match(stdout, /authtoken: \*\*\*[^]*provider: github, secret: \*\*\*/);
    assert.equal(readFileSync(path, "utf8").match(/canary/g)?.length, 9);
  });

  it("postern config upgrade 3 adds a version to a file without one", async () => {
    const path = file("unversioned.yml", "server_addr: t.example.com:443\nregion: eu\n");
    assert.equal((await config("upgrade", "3", "--config", path)).code, 0);
    assert.equal(readFileSync(path, "utf8"), "version: 3\nagent:\n  connect_url: t.example.com:443\n  region: eu\n");
  });

  it("postern config upgrade 3 moves the agent's settings below agent:", async () => {
    const path = file("to-third.yml", second);
    assert.equal((await config("upgrade", "3", "--config", path)).code, 0);
    const later = readFileSync(path, "utf8");
    assert.match(later, /version: 3\nagent:\n {2}authtoken: token # Ann's\n {2}connect_url: t\.example\.com:4443\n/);
    assert.match(later, /^ {2}connect_cas: host$/m);
    assert.equal((await config("check", "--config", path)).code, 0);
  });

  it("postern config upgrade converts the endpoints of version 3 to tunnels", async () => {
    const path = file(
      "third.yml",
      `version: 3
agent:
  authtoken: token
endpoints:
  - name: rpc # remote
    url: https://rpc.example.com
    upstream:
      url: 50051
      protocol: http2
    pooling_enabled: true
`,
    );
    assert.equal((await config("upgrade", "--config", path)).code, 0);
    assert.equal(
      readFileSync(path, "utf8").replace(/ *#.*/g, ""),
      "authtoken: token\ntunnels:\n  rpc:\n    url: https://rpc.example.com\n    addr: 50051\n    upstream_protocol: http2\n    pooling_enabled: true\n",
    );
    assert.equal((await config("check", "--config", path)).code, 0);
  });

  it("postern config upgrade changes nothing in a file with a fault", async () => {
    const path = file("wrong.yml", 'version: "2"\ncrl_url: us\n');
    const ended = await config("upgrade", "--config", path);
    assert.equal(ended.code, 2);
    assert.match(ended.stderr, /correct these errors first:\n.*wrong\.yml:2:1: "crl_url" is not supported/);
    assert.equal(readFileSync(path, "utf8"), 'version: "2"\ncrl_url: us\n');
  });
});
