/** The commands as processes: their output, their errors and their exit codes. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import type { Readable } from "node:stream";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { eventually } from "../support/eventually.ts";
import { freePorts, runCommand, startCommand } from "../support/command.ts";
import type { Running } from "../support/command.ts";
import type { ApiBody } from "../support/platform.ts";
import { startHttpService } from "../support/services.ts";
import type { HttpService } from "../support/services.ts";
import { runSharedCommand } from "../support/shared-command.ts";

interface ServeFacts {
  readonly api_url: string;
  readonly https_port: number;
  readonly agent_port: number;
  readonly ca_file: string;
  readonly api_key?: string;
  readonly authtoken?: string;
}

describe("the command line", () => {
  const directory = mkdtempSync(join(tmpdir(), "postern-commands-"));
  after(() => rmSync(directory, { recursive: true }));

  for (const command of ["dev", "serve", "http", "tcp", "tls", "start", "ca", "account create", "version"]) {
    it(`the command line describes every setting in the help of \`postern ${command}\``, async () => {
      const ended = await runSharedCommand([...command.split(" "), "--help"]);
      assert.equal(ended.code, 0);
      assert.match(ended.stdout, new RegExp(`^Usage: postern ${command} \\[OPTIONS\\]`));
      const config = ["http", "tcp", "tls", "start"].includes(command)
        ? /^ {2}--config FILE$/m
        : /\[.*POSTERN_CONFIG, config\]/;
      if (command !== "ca" && command !== "version") assert.match(ended.stdout, config);
    });
  }

  it("the command line lists the commands", async () => {
    const ended = await runCommand(["help"]);
    assert.equal(ended.code, 0);
    for (const command of ["dev", "serve", "http", "tcp", "tls", "start", "ca", "account create", "version"]) {
      assert.match(ended.stdout, new RegExp(`^ {2}${command} +[A-Z]`, "m"));
    }
  });

  for (const args of [
    ["inbox", "--help"],
    ["help", "inbox"],
    ["inbox", "-h"],
  ]) {
    it(`\`postern ${args.join(" ")}\` lists the commands that begin with this word`, async () => {
      const ended = await runSharedCommand(args);
      assert.equal(ended.code, 0, ended.stderr);
      assert.match(ended.stdout, /^Usage: postern inbox COMMAND \[OPTIONS\]\n\n {2}list +List the webhooks/);
      assert.match(ended.stdout, /^ {2}tail +Print webhooks/m);
      assert.doesNotMatch(ended.stdout, /agent/);
    });
  }

  for (const [what, args, sentence] of [
    ["no command", [], /^$/],
    ["an unknown command", ["tunnel"], /unknown command "tunnel": /],
    ["half of a command", ["config"], /`postern config` takes one of init, check, edit, add-authtoken, upgrade/],
    ["the wrong half of a command", ["agent", "stats"], /`postern agent` takes no "stats", but one of status, tunnels/],
    ["a command written wrongly", ["aply"], /unknown command "aply" \(did you mean "apply"\?\): /],
    [
      "an unknown option",
      ["serve", "--verbose"],
      /`postern serve` has no option --verbose, see `postern serve --help`/,
    ],
    ["too many operands", ["tcp", "3000", "4000"], /takes PORT\|HOST:PORT/],
    ["targets without paths", ["http", "3000", "4000", "--server", "a", "--token", "x"], /must begin with a path/],
    ["no port to publish", ["http"], /needs a target, such as 3000/],
    [
      "an upstream with a path",
      ["http", "http://localhost/path", "--server", "localhost", "--token", "x"],
      /must be PORT, HOST:PORT/,
    ],
    [
      "a URL and labels",
      ["http", "3000", "--server", "localhost", "--token", "x", "--url", "https://a.b", "--label", "a=b"],
      /--label cannot be combined: .*\(url, label\)/,
    ],
    [
      "a policy and labels",
      ["http", "3000", "--server", "localhost", "--token", "x", "--label", "a=b", "--traffic-policy-file", "p.yaml"],
      /--label does not work with a traffic policy/,
    ],
    [
      "a pool and labels",
      ["tcp", "3000", "--server", "localhost", "--token", "x", "--label", "a=b", "--pooling"],
      /--label does not work with pooling/,
    ],
    [
      "a policy that is not there",
      ["tls", "3000", "--server", "localhost", "--token", "x", "--traffic-policy-file", "nowhere.yaml"],
      /--traffic-policy-file cannot read "nowhere.yaml"/,
    ],
    [
      "a label without value",
      ["http", "3000", "--server", "localhost", "--token", "x", "--label", "a"],
      /--label must be NAME=VALUE: "a"/,
    ],
    [
      "a URL that is not https",
      ["http", "3000", "--server", "localhost", "--token", "x", "--url", "ftp://a.b"],
      /--url must be an https/,
    ],
    [
      "a tcp upstream without a port",
      ["tcp", "db.internal", "--server", "localhost", "--token", "x"],
      /must be PORT, HOST:PORT or tcp:/,
    ],
    [
      "a tcp URL without a port",
      ["tcp", "5432", "--server", "localhost", "--token", "x", "--url", "tcp://a.b"],
      /--url must be a tcp:\/\/ URL with a port/,
    ],
    ["one port where a range belongs", ["serve", "--tcp-ports", "20000"], /--tcp-ports must be two ports/],
    ["a name to bind ports on", ["serve", "--tcp-bind", "localhost"], /--tcp-bind must be an address/],
    ["a domain with an underscore", ["serve", "--domain", "under_score"], /--domain must not contain an underscore/],
    ["every origin", ["serve", "--api-origins", "*"], /--api-origins must name the origins one by one/],
    [
      "an origin with a path",
      ["serve", "--api-origins", "https://app.example.com/x"],
      /--api-origins must be an origin as browsers send it: https:\/\/app\.example\.com/,
    ],
    [
      "a proxy network whose mask is too long",
      ["serve", "--trusted-proxies", "10.0.0.1/40"],
      /--trusted-proxies must have a mask/,
    ],
    [
      "a forwarder that is not a network",
      ["dev", "--trusted-forwarders", "proxy"],
      /--trusted-forwarders must be an address or a network/,
    ],
    [
      "a PROXY header inside TLS",
      ["http", "https://localhost:3000", "--proxy-protocol", "1", "--server", "127.0.0.1:1", "--token", "x"],
      /cannot be https:\/\/ with a PROXY protocol header/,
    ],
    ["half of an AWS key", ["serve", "--aws-access-key-id", "AKIAEXAMPLE"], /must be given together/],
    ["a token service without TLS", ["serve", "--aws-sts-endpoint", "http://sts.internal"], /must be an https/],
    ["a guessable first key", ["serve", "--bootstrap-api-key", "secret"], /--bootstrap-api-key must be 27 to 512/],
    ["an API URL without its scheme", ["serve", "--api-url", "example.com"], /--api-url must be an http/],
  ] as const) {
    it(`the command line rejects ${what} with exit code 2`, async () => {
      const ended = await runSharedCommand([...args], { env: { POSTERN_DATA: join(directory, "none") } });
      assert.equal(ended.code, 2, ended.stderr);
      assert.match(ended.stderr, sentence);
      assert(ended.stderr.split("\n").length <= 2, ended.stderr);
    });
  }

  it("P8: the command line offers the management API to this machine only, unless a setting names another address", async () => {
    for (const command of ["serve", "dev"]) {
      const { stdout } = await runSharedCommand([command, "--help"]);
      assert.match(stdout, /--api-listen [^\n]*\n[^[]*\[default 127\.0\.0\.1:\d+;/, command);
    }
  });

  it("the command line rejects a guessable first key without repeating it", async () => {
    const ended = await runCommand(["serve"], { env: { POSTERN_BOOTSTRAP_API_KEY: "hunter2" } });
    assert.doesNotMatch(ended.stderr, /hunter2/);
  });

  it("the command line reports in one sentence that a data directory is not writable", async () => {
    writeFileSync(join(directory, "file"), "");
    const ended = await runSharedCommand(["serve", "--data", join(directory, "file", "data")], { env: freePorts });
    assert.equal(ended.code, 2);
    assert.match(ended.stderr, /^postern: cannot write to the data directory ".*" \(ENOTDIR\): .*--data\n$/);
  });

  it("D9: the command line serves with the quotas from the settings", async () => {
    const variables = { POSTERN_OWNER_MAX_OBJECTS: "1", POSTERN_ACCOUNT_MAX_BYTES: "5000" };
    const args = ["serve", "--data", join(directory, "quotas"), "--account-max-objects", "2", "--json"];
    const server = startCommand(args, { env: { ...freePorts, ...variables } });
    const { api_url, api_key } = JSON.parse(await server.firstLine()) as ServeFacts;
    const create = async (path: string, body: object): Promise<readonly [status: number, answer: ApiBody]> => {
      const headers = {
        authorization: `Bearer ${api_key}`,
        "service-version": "2",
        "content-type": "application/json",
      };
      const answer = await fetch(api_url + path, { method: "POST", headers, body: JSON.stringify(body) });
      return [answer.status, await answer.json()];
    };
    const refusedFor = async (path: string, body: object): Promise<unknown> => {
      const [status, answer] = await create(path, body);
      assert.equal(status, 403);
      return answer.details.setting;
    };
    const [, policy] = await create("/ip_policies", {});
    await create("/ip_policies", {});
    assert.equal(await refusedFor("/ip_policies", {}), "--account-max-objects");
    const rule = (cidr: string) => ({ ip_policy_id: policy.id, cidr, action: "allow" });
    await create("/ip_policy_rules", rule("10.0.0.0/8"));
    assert.equal(await refusedFor("/ip_policy_rules", rule("11.0.0.0/8")), "--owner-max-objects");
    const page = { status_code: 200, body: "a".repeat(6000) };
    assert.equal(await refusedFor("/backends/http_response", page), "--account-max-bytes");
    await server.end();
  });

  it("P8: the command line rejects a data directory whose secrets others may read", async () => {
    const data = join(directory, "readable");
    const first = startCommand(["serve", "--data", data, "--json"], { env: freePorts });
    await first.firstLine();
    await first.end();
    for (const file of ["api-key", "authtoken", "ca.key", "tunnel.key", "sealing-key"]) {
      chmodSync(join(data, file), 0o644);
      const ended = await runSharedCommand(["serve", "--data", data], { env: freePorts });
      assert.equal(ended.code, 2, file);
      assert.match(ended.stderr, new RegExp(`${file}" .*chmod 600`));
      chmodSync(join(data, file), 0o600);
    }
  });
});

describe("postern serve, and the commands beside it", () => {
  const data = mkdtempSync(join(tmpdir(), "postern-serve-"));
  let server: Running;
  let facts: ServeFacts;
  let upstream: HttpService;

  const startServer = async (env: Record<string, string> = {}): Promise<void> => {
    server = startCommand(["serve", "--data", data, "--json"], { env: { ...freePorts, ...env } });
    facts = JSON.parse(await server.firstLine()) as ServeFacts;
  };
  before(async () => {
    upstream = await startHttpService((_request, response) => response.end("served"));
    await startServer();
  });
  after(async () => {
    await server.end();
    await upstream.stop();
    rmSync(data, { recursive: true });
  });

  it("postern serve prints the first key and token once, and stores them", async () => {
    const { api_key, authtoken } = facts;
    assert.equal(readFileSync(join(data, "api-key"), "utf8").trim(), api_key);
    assert.equal(readFileSync(join(data, "authtoken"), "utf8").trim(), authtoken);
    const ended = await server.end();
    assert.equal(ended.code, 0);
    await startServer();
    assert.equal(facts.api_key, undefined);
    assert.equal(facts.authtoken, undefined);
    assert.doesNotMatch(server.stderr(), new RegExp(`${api_key}|${authtoken}`));
  });

  it("K5: postern serve keeps secrets out of its log", async () => {
    await server.end();
    await startServer({ POSTERN_LOG_LEVEL: "debug" });
    const secrets = ["api-key", "authtoken", "tunnel.key", "sealing-key"].map((file) =>
      readFileSync(join(data, file), "utf8").trim(),
    );
    const agent = startCommand(["http", String(upstream.port), "--data", data, "--log-level", "debug"]);
    await agent.firstLine();
    await agent.end();
    for (const secret of secrets) {
      assert(!server.stderr().includes(secret));
      assert(!agent.stderr().includes(secret) && !agent.stdout().includes(secret));
    }
  });

  it("`postern http` finds the server of the data directory, prints its forwarding, and ends with 130", async () => {
    const agent = startCommand(["http", String(upstream.port), "--url", "https://app.localhost", "--data", data]);
    const line = `https://app.localhost:${facts.https_port} → http://localhost:${upstream.port}`;
    assert.equal(await agent.firstLine(), line);
    assert.equal((await agent.end("SIGINT")).code, 130);
  });

  it("`postern http` sends its policy, and reports the faults of an invalid one", async () => {
    const file = join(data, "policy.yaml");
    const args = ["http", String(upstream.port), "--url", "https://policy.localhost", "--data", data];
    writeFileSync(file, "on_http_request: [{actions: [{type: teapot}]}]");
    const refused = await runSharedCommand([...args, "--traffic-policy-file", file]);
    assert.notEqual(refused.code, 0);
    assert.match(refused.stderr, /on_http_request\[0\]\.actions\[0\]\.type/);
    writeFileSync(file, "on_http_request: [{actions: [{type: custom-response, config: {status_code: 418}}]}]");
    const agent = startCommand([...args, "--traffic-policy-file", file, "--pooling"]);
    assert.match(await agent.firstLine(), /^https:\/\/policy\.localhost/);
    await agent.end();
  });

  it("`postern http` warns of a dead port immediately, stays online, and reports when the service is available", async () => {
    const dead = createServer().listen(0, "127.0.0.1");
    await once(dead, "listening");
    const { port } = dead.address() as AddressInfo;
    dead.close();
    const agent = startCommand(["http", String(port), "--data", data, "--log-format", "json"]);
    const told = async (event: string): Promise<void> => {
      while (!agent.stderr().includes(`"${event}"`)) await once(agent.process.stderr as Readable, "data");
    };
    await told("service unreachable");
    const [url] = (await agent.firstLine()).split(" ") as [string];
    assert.match(url, /^https:/);
    const back = createServer((socket) => socket.on("error", () => {}).end()).listen(port, "127.0.0.1");
    await told("service reachable again");
    back.close();
    assert.equal((await agent.end("SIGINT")).code, 130);
  });

  it("`postern http --require-upstream` exits with 6 for a dead port, and publishes a working one", async () => {
    const dead = createServer().listen(0, "127.0.0.1");
    await once(dead, "listening");
    const { port } = dead.address() as AddressInfo;
    dead.close();
    const ended = await runCommand(["http", String(port), "--data", data, "--require-upstream"]);
    assert.equal(ended.code, 6);
    assert.equal(ended.stdout, "");
    assert.equal(
      ended.stderr,
      `postern: cannot reach the service at http://localhost:${port}: nothing listens there\n`,
    );
    const agent = startCommand(["http", String(upstream.port), "--data", data, "--require-upstream"]);
    await agent.firstLine();
    await agent.end();
  });

  /** Names the server without its directory, for a token from another source. */
  const way = (): readonly string[] => ["--server", `127.0.0.1:${facts.agent_port}`, "--ca", join(data, "ca.pem")];

  it("`postern http` exits with 3 if the server rejects the token", async () => {
    const ended = await runSharedCommand(["http", "3000", ...way()], {
      env: { POSTERN_AUTHTOKEN: "not-a-token" },
    });
    assert.equal(ended.code, 3);
    assert.match(ended.stderr, /rejected the agent token/);
    assert.doesNotMatch(ended.stderr, /not-a-token/);
  });

  it("`postern http` exits with 4 if nothing listens at the server's address", async () => {
    const unused = createServer().listen(0, "127.0.0.1");
    await once(unused, "listening");
    const { port } = unused.address() as AddressInfo;
    unused.close();
    const args = ["http", "3000", "--token", "x", "--server", `127.0.0.1:${port}`];
    const ended = await runSharedCommand(args);
    assert.equal(ended.code, 4);
    assert.match(ended.stderr, /cannot reach the server .*: nothing listens there/);
  });

  it("`postern http` exits with 4 if the server's CA is not the configured one", async () => {
    const ended = await runSharedCommand(["http", "3000", "--data", data, "--ca", "system"]);
    assert.equal(ended.code, 4);
    assert.match(ended.stderr, /is not trusted .*--ca FILE/);
  });

  it("`postern account create` makes an account that cannot use the first one's names: exit code 5", async () => {
    const created = await runSharedCommand(["account", "create", "team", "--data", data, "--json"]);
    assert.equal(created.code, 0, created.stderr);
    const account = JSON.parse(created.stdout) as { name: string; authtoken: string };
    assert.equal(account.name, "team");
    const agent = startCommand(["http", "3000", "--url", "https://mine.localhost", "--data", data]);
    await agent.firstLine();
    const other = await runSharedCommand(["http", "3000", "--url", "https://mine.localhost", ...way()], {
      env: { POSTERN_AUTHTOKEN: account.authtoken },
    });
    assert.equal(other.code, 5);
    assert.match(other.stderr, new RegExp(String.raw`the URL is not available: .*${errorCode("agent_name_taken")}`));
    await agent.end();
    const again = await runSharedCommand(["account", "create", "team", "--data", data]);
    assert.equal(again.code, 5);
    assert.match(again.stderr, new RegExp(String.raw`^postern: .* \(${errorCode("name_taken")}, op_\w+\)\n`));
  });

  it("`postern http` exits with 7 when the token's ACL does not allow the name", async () => {
    const key = readFileSync(join(data, "api-key"), "utf8").trim();
    const response = await fetch(`${facts.api_url}/credentials`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "service-version": "2", "content-type": "application/json" },
      body: JSON.stringify({ acl: ["bind:only.localhost"] }),
    });
    const { token } = (await response.json()) as { token: string };
    const ended = await runSharedCommand(["http", "3000", "--url", "https://any.localhost", ...way()], {
      env: { POSTERN_AUTHTOKEN: token },
    });
    assert.equal(ended.code, 7, ended.stderr);
  });

  it("`postern console --open` hides its link from other users' views of processes and files", async () => {
    const bin = join(data, "bin");
    const seen = join(data, "seen");
    mkdirSync(bin);
    writeFileSync(join(bin, "xdg-open"), `#!/bin/sh\nprintf %s "$*" >${seen}.new && mv ${seen}.new ${seen}\n`, {
      mode: 0o755,
    });
    const env = { PATH: `${bin}:${process.env["PATH"]}`, XDG_RUNTIME_DIR: data };
    const ended = await runCommand(["console", "--open", "--data", data], { env });
    assert.equal(ended.code, 0, ended.stderr);
    const given = await eventually(() => (existsSync(seen) ? readFileSync(seen, "utf8") : ""), Boolean);
    const page = join(data, "postern", "console.html");
    assert.equal(given, page);
    assert.match(readFileSync(page, "utf8"), new RegExp(RegExp.escape(ended.stdout.trim())));
    assert.deepEqual([statSync(page).mode & 0o777, statSync(join(data, "postern")).mode & 0o777], [0o600, 0o700]);
  });

  it("`postern ca` prints the CA, and on stderr how to trust it", async () => {
    const ended = await runSharedCommand(["ca", "--data", data]);
    assert.equal(ended.code, 0);
    assert.equal(ended.stdout, readFileSync(join(data, "ca.pem"), "utf8"));
    assert.match(ended.stderr, /update-ca-certificates/);
  });

  it("postern serve reads the first key and token from the environment", async () => {
    const other = join(data, "chosen");
    const env = {
      ...freePorts,
      POSTERN_BOOTSTRAP_API_KEY: "chosen-api-key-0123456789abcdef",
      POSTERN_BOOTSTRAP_AUTHTOKEN: "chosen-authtoken-0123456789abcdef",
    };
    const chosen = startCommand(["serve", "--data", other, "--json"], { env });
    const { api_url } = JSON.parse(await chosen.firstLine()) as ServeFacts;
    const response = await fetch(`${api_url}/credentials`, {
      headers: { authorization: `Bearer ${env.POSTERN_BOOTSTRAP_API_KEY}`, "service-version": "2" },
    });
    assert.equal(response.status, 200);
    const agent = startCommand(["http", "3000", "--data", other], {
      env: { POSTERN_AUTHTOKEN: env.POSTERN_BOOTSTRAP_AUTHTOKEN },
    });
    await agent.firstLine();
    await agent.end();
    await chosen.end();
  });
});
