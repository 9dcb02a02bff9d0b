/** `postern http --inbox` and `postern inbox`: an agent that was away gets what arrived meanwhile. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { verifyWebhook } from "../../src/webhooks/webhook-verification.ts";
import { root, startCommand } from "../support/command.ts";
import type { Running } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { startInboxWorld } from "../support/inbox-world.ts";
import type { InboxWorld } from "../support/inbox-world.ts";
import { runSharedCommand } from "../support/shared-command.ts";

const guide = readFileSync(`${root}docs/guides/webhook-inbox.md`, "utf8");
const [start = "", send = ""] = Array.from(guide.matchAll(/^```sh\n([^]*?)^```$/gm), ([, text = ""]) => text.trim());
const file = /^```text webhooks\n([^]*?)^```$/m.exec(guide)?.[1] ?? "";
const secrets = new Map(
  file
    .trim()
    .split("\n")
    .map((line) => /^\/\w+=(\w+):(.*)$/.exec(line)?.slice(1) as [string, string]),
);

describe("postern http --inbox", { timeout: 240_000 }, () => {
  let world: InboxWorld;
  before(async () => {
    world = await startInboxWorld();
    writeFileSync(join(world.platform.directory, "webhooks"), file);
    chmodSync(join(world.platform.directory, "webhooks"), 0o600);
  });
  after(() => world.stop());

  const access = () => ({ POSTERN_DATA: world.platform.directory });
  /** Starts the agent as the guide does. Only the port of the service, and the inspector's, are others. */
  const startAgent = (...more: readonly string[]): Running => {
    const [name, ...args] = start.split(" ");
    assert.equal(name, "postern");
    const webhooks = join(world.platform.directory, "webhooks");
    const given = args.map((one) => (one === "3000" ? String(world.servicePort) : one === "webhooks" ? webhooks : one));
    return startCommand([...given, "--inspector", "off", ...more], { env: access() });
  };
  const urlOf = async (agent: Running): Promise<string> => {
    const url = /^(https:\/\/\S+) → /.exec(await agent.firstLine())?.[1];
    assert.ok(url !== undefined);
    return url;
  };
  const runGuide = (script: string, URL: string): Promise<string> => {
    const postern = `postern() { '${process.execPath}' '${root}bin/postern.js' "$@"; }`;
    const env = { ...process.env, ...access(), URL };
    const shell = spawn("sh", ["-c", `${postern}\n${script}`], { env });
    let output = "";
    for (const stream of [shell.stdout, shell.stderr])
      stream.on("data", (bytes: Buffer) => (output += bytes.toString()));
    return new Promise((resolve) => shell.once("close", () => resolve(output)));
  };

  it("the guide's ten webhooks of three providers arrive in order, with valid signatures, after the lid was closed", async () => {
    const first = startAgent();
    const url = await urlOf(first);
    await first.end("SIGKILL");

    const output = await runGuide(send, url);
    assert.equal(output.match(/\b202\b/g)?.length, 10, output);
    const listed = await runSharedCommand(["inbox", "list"], { env: access() });
    assert.equal(listed.stdout.trim().split("\n").length, 10, listed.stderr);
    assert.match(listed.stdout, /waiting +\S+ +inbox_\w+ +POST \/github/);
    assert.equal(world.received.length, 0);

    const second = startAgent();
    assert.equal(await urlOf(second), url);
    await world.arrived(10);
    for (const [provider, secret] of secrets) {
      const got = world.received.filter(({ url: path }) => path === `/${provider}`);
      const wanted = provider === "github" ? [1, 2, 3, 4] : [1, 2, 3];
      assert.deepEqual(
        got.map(({ body }) => (JSON.parse(body.toString()) as { readonly n: number }).n),
        wanted,
      );
      for (const { headers, body } of got) {
        const getAll = (name: string) => [headers[name] ?? []].flat();
        const message = { method: "POST", url: `${url}/${provider}`, headers: { getAll }, body };
        const { wrong } = await verifyWebhook(provider, secret, message, Date.now());
        assert.equal(wrong, undefined, provider);
      }
    }
    await eventually(
      () => world.ok("GET", "/inbox_messages?state=delivered"),
      (page) => page.inbox_messages.length === 10,
    );
    const again = await runSharedCommand(["inbox", "deliver", "--provider", "stripe", "--dry-run"], { env: access() });
    assert.equal(again.stdout, "Would deliver 3 messages.\n");
    await second.end();
  });

  it("postern http --inbox works with a token that allows only its host, and with no other host", async () => {
    const { platform, servicePort } = world;
    const host = "laptop.example.com";
    const { token } = await world.ok("POST", "/credentials", { acl: [`bind:${host}`] });
    const ca = join(platform.directory, "trusted.pem");
    writeFileSync(ca, platform.caPem);
    const server = ["--server", `localhost:${platform.agentPort}`, "--ca", ca, "--inspector", "off"];
    const args = (name: string) => ["http", String(servicePort), "--inbox", "--url", `https://${name}`, ...server];
    const env = { POSTERN_AUTHTOKEN: token as string };
    const refused = await runSharedCommand(args("other.example.com"), { env });
    assert.notEqual(refused.code, 0);
    assert.match(refused.stderr, /the token's ACL does not list it/);

    const held = startCommand([...args(host), "--inbox-hold"], { env });
    await held.firstLine();
    const before = world.received.length;
    const sent = await platform.request(`https://${host}/hook`, { method: "POST", body: "held" });
    assert.equal(sent.status, 202);
    const [inbox] = (await world.ok("GET", "/inboxes")).inboxes;
    assert.deepEqual([inbox.waiting, inbox.paused], [1, true]);
    await held.end();
    assert.equal(world.received.length, before);

    const resumed = startCommand(args(host), { env });
    await world.arrived(before + 1);
    await resumed.end();
  });
});
