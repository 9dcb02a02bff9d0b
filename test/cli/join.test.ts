/** `postern invite` and `postern join`: from a code to a published service. */
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer } from "node:tls";
import { after, before, describe, it } from "node:test";
import { createAuthority, issueLeaf } from "../../src/lib/certificates/x509.ts";
import { parseJoinCode, renderJoinCode } from "../../src/lib/join-code.ts";
import { startCommand } from "../support/command.ts";
import { startNode } from "../support/nodes.ts";
import { startPlatform } from "../support/platform.ts";
import type { TestPlatform } from "../support/platform.ts";
import { databases } from "../support/postgres.ts";
import { startHttpService } from "../support/services.ts";
import { runSharedCommand } from "../support/shared-command.ts";

describe("postern join", { timeout: 180_000 }, () => {
  const home = mkdtempSync(join(tmpdir(), "postern-join-"));
  let platform: TestPlatform;
  let homes = 0;
  before(async () => {
    platform = await startPlatform({ drainMs: 50 });
  });
  after(async () => {
    await platform.stop();
    rmSync(home, { recursive: true });
  });
  /** Returns the environment of another machine. */
  const machine = () => {
    const config = join(home, `machine-${(homes += 1)}`);
    return { env: { XDG_CONFIG_HOME: config }, file: join(config, "postern", "agent.yml") };
  };
  const invite = (...args: string[]) =>
    runSharedCommand(["invite", ...args], { env: { POSTERN_DATA: platform.directory } });
  const codeOf = async (...args: string[]): Promise<string> => {
    const { stdout, stderr } = await invite(...args, "--json");
    assert.ok(stdout.startsWith("{"), stderr);
    return (JSON.parse(stdout) as { readonly code: string }).code;
  };

  it("postern join stores the server, its CA and a token, and the printed command then publishes", async () => {
    const { code, stdout } = await invite("--expires", "2h", "--description", "for a laptop");
    assert.equal(code, 0);
    assert.match(stdout, /^ {2}postern join pj1_\S+$/m);
    assert.match(stdout, /works for one machine until \d{4}-.*Z\. It is not shown again\.$/m);
    const { env, file } = machine();
    const given = String(/pj1_\S+/.exec(stdout)?.[0]);
    const joined = await runSharedCommand(["join", given, "--name", "laptop-1"], { env });
    assert.equal(joined.code, 0, joined.stderr);
    const server = `localhost:${platform.agentPort}`;
    assert.equal(joined.stdout, `joined ${server} (account default), stored in ${file}\nNext: postern http 3000\n`);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.equal(readFileSync(join(file, "..", "localhost.pem"), "utf8").trim(), platform.caPem.trim());
    const [credential] = (await platform.api("GET", "/credentials?limit=1")).body.credentials;
    assert.deepEqual([credential.description, credential.acl], ["laptop-1", []]);
    const service = await startHttpService((_, response) => response.end("joined"));
    const agent = startCommand(["http", String(service.port), "--json"], { env });
    const { url } = JSON.parse(await agent.firstLine()) as { readonly url: string };
    assert.equal((await platform.request(url)).text, "joined");
    await agent.end("SIGINT");
    await service.stop();
  });

  it("postern join reads the code from stdin, and reports that the machine has already joined", async () => {
    const { env, file } = machine();
    const code = await codeOf();
    const first = startCommand(["join", "--json"], { env, stdio: ["pipe", "pipe", "pipe"] });
    first.process.stdin?.end(`${code}\n`);
    const facts = { server: `localhost:${platform.agentPort}`, account: "default", agent_file: file };
    const next = "postern http 3000";
    assert.deepEqual(JSON.parse((await first.finished).stdout), { ...facts, already_joined: false, next });
    const stored = readFileSync(file, "utf8");
    const again = await runSharedCommand(["join", code, "--json"], { env });
    assert.deepEqual(JSON.parse(again.stdout), { ...facts, already_joined: true, next });
    const other = await codeOf();
    assert.match(
      (await runSharedCommand(["join", other], { env })).stdout,
      /^this machine has already joined localhost:/,
    );
    assert.equal(readFileSync(file, "utf8"), stored);
    // The second code is still unused.
    assert.equal((await runSharedCommand(["join", other, "--force"], { env })).code, 0);
    assert.notEqual(readFileSync(file, "utf8"), stored);
  });

  it("postern join replaces a stored token that no longer works", async () => {
    const { env, file } = machine();
    await runSharedCommand(["join", await codeOf()], { env });
    const [credential] = (await platform.api("GET", "/credentials?limit=1")).body.credentials;
    await platform.api("DELETE", `/credentials/${credential.id}`);
    const stored = readFileSync(file, "utf8");
    assert.equal((await runSharedCommand(["join", await codeOf()], { env })).code, 0);
    assert.notEqual(readFileSync(file, "utf8"), stored);
  });

  it("G14: postern join gets the same error for used, expired, deleted and unknown codes, and stores nothing", async () => {
    const used = await codeOf();
    assert.equal((await runSharedCommand(["join", used], { env: machine().env })).code, 0);
    const deleted = await codeOf();
    const [newest] = (await platform.api("GET", "/agent_invitations?limit=1")).body.agent_invitations;
    await platform.api("DELETE", `/agent_invitations/${newest.id}`);
    const unknown = renderJoinCode({ ...parseJoinCode(used), secret: Buffer.alloc(20, 1) });
    const answers = new Set<string>();
    for (const code of [used, deleted, unknown]) {
      const { env, file } = machine();
      const ended = await runSharedCommand(["join", code], { env });
      assert.equal(ended.code, 3);
      answers.add(ended.stderr);
      assert.ok(!existsSync(file));
    }
    assert.equal(answers.size, 1, [...answers].join());
    assert.match(
      [...answers].join(),
      /rejected the code: The join code is unknown, expired or used up\. Ask for another/,
    );
  });

  for (const [what, shows] of [
    ["another CA", false],
    ["another CA of the same name that also presents the server's CA", true],
  ] as const) {
    it(`G15: postern join sends nothing to a server with ${what}`, async () => {
      const now = Date.now();
      const realName = String(/CN=(.*)/.exec(new X509Certificate(platform.caPem).subject)?.[1]);
      const other = await createAuthority({ commonName: shows ? realName : "In the middle", now });
      const leaf = await issueLeaf(other, { names: ["localhost"], now, days: 2 });
      const heard: Buffer[] = [];
      let connections = 0;
      const cert = [leaf.certificatePem, ...(shows ? [platform.caPem] : []), other.certificatePem].join("\n");
      const middle = createServer({ cert, key: leaf.keyPem }, (socket) => {
        socket.on("error", () => {}).on("data", (bytes: Buffer) => heard.push(bytes));
      });
      middle.on("connection", () => (connections += 1)).on("tlsClientError", () => {});
      middle.listen(0, "localhost");
      await once(middle, "listening");
      const code = await codeOf();
      const { port } = middle.address() as AddressInfo;
      const { env, file } = machine();
      const ended = await runSharedCommand(["join", renderJoinCode({ ...parseJoinCode(code), port })], { env });
      middle.close();
      assert.equal(ended.code, 4, ended.stderr);
      assert.match(ended.stderr, /is not trusted|does not have the CA that the code names, and the code was not sent/);
      assert.ok(connections > 0);
      assert.equal(Buffer.concat(heard).length, 0);
      assert.ok(!existsSync(file));
      // The code still works at the real server.
      assert.equal((await runSharedCommand(["join", code], { env })).code, 0);
    });
  }

  it("postern join rejects texts that are not codes, and servers that do not answer", async () => {
    const { env } = machine();
    const code = parseJoinCode(await codeOf());
    for (const [text, exit, message] of [
      ["pj1_x", 2, /the code is incomplete or mistyped: copy the whole code/],
      ["nonsense", 2, /the code must start with "pj1_"/],
      [renderJoinCode({ ...code, port: 1 }), 4, /cannot reach the server localhost:1: nothing listens there/],
      [renderJoinCode({ ...code, host: "127.0.0.9" }), 4, /./],
    ] as const) {
      const ended = await runSharedCommand(["join", text], { env });
      assert.equal(ended.code, exit, ended.stderr);
      assert.match(ended.stderr, message);
    }
  });

  it("postern invite limits the machines, the names and the tokens, and --agent-address sets the address", async () => {
    const made = await invite("--uses", "2", "--acl", "bind:*.a.example", "--token-expires", "24h", "--json");
    const { code, uses, acl, token_expires_at: end } = JSON.parse(made.stdout);
    assert.deepEqual([uses, acl], [2, ["bind:*.a.example"]]);
    assert.ok(Math.abs(Date.parse(end) - Date.now() - 86_400_000) < 600_000);
    const { env } = machine();
    await runSharedCommand(["join", code], { env });
    const refused = await runSharedCommand(["http", "3000", "--url", "https://b.example"], { env });
    assert.equal(refused.code, 7, refused.stderr);
    const elsewhere = await startPlatform({
      agentAddress: [{ host: "agents.example.com", port: 443 }],
      agentCa: "system",
      drainMs: 50,
    });
    const there = (await elsewhere.api("POST", "/agent_invitations", {})).body.code;
    await elsewhere.stop();
    const { host, port, authority } = parseJoinCode(there);
    assert.deepEqual([host, port, authority], ["agents.example.com", 443, undefined]);
  });

  it("G14: the server's log never contains a code", async () => {
    const data = join(home, "logged");
    const env = { POSTERN_DATA: data, POSTERN_LOG_LEVEL: "debug", POSTERN_API_LISTEN: "127.0.0.1:0" };
    const server = startCommand(["serve"], {
      env: { ...env, POSTERN_HTTPS_LISTEN: "127.0.0.1:0", POSTERN_AGENT_LISTEN: "127.0.0.1:0" },
    });
    await server.firstLine();
    const { stdout } = await runSharedCommand(["invite", "--json"], { env });
    const { code } = JSON.parse(stdout) as { readonly code: string };
    const elsewhere = machine().env;
    for (const exit of [0, 3])
      assert.equal((await runSharedCommand(["join", "--force", code], { env: elsewhere })).code, exit);
    const ended = await server.end();
    const shown = ended.stdout + ended.stderr;
    assert.match(shown, /agent joined/);
    const { secret } = parseJoinCode(code);
    for (const text of ["pj1_", secret.toString("base64url"), secret.toString("hex")]) assert.ok(!shown.includes(text));
  });

  const postgres = databases.find(({ name }) => name === "postgres");
  if (!postgres) return;

  it("G14: a single-use code admits one of two machines that send it to two nodes", async () => {
    const place = await postgres.create();
    const [one, other] = await Promise.all([startNode(place.url), startNode(place.url)]);
    const made = await one.call("POST", "/agent_invitations", {});
    const code = parseJoinCode(String(made.body["code"]));
    const ended = await Promise.all(
      [one, other].map(({ agents: { port } }) =>
        runSharedCommand(["join", renderJoinCode({ ...code, port })], { env: machine().env }),
      ),
    );
    assert.deepEqual(new Set(ended.map(({ code: exit }) => exit)), new Set([0, 3]), JSON.stringify(ended));
    const { body } = await other.until("/credentials", (reply) => (reply.body["credentials"] as unknown[]).length > 1);
    assert.equal((body["credentials"] as unknown[]).length, 2);
    await Promise.all([one.end(), other.end()]);
    await place.drop();
  });
});
