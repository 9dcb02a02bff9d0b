/** `postern http --inbox` and `postern inbox`: an agent that was away gets what arrived meanwhile. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { sign, verifyWebhook } from "../../src/webhooks/verify.ts";
import { eventually } from "../support/eventually.ts";
import { startInboxWorld } from "../support/inbox-world.ts";
import type { InboxWorld } from "../support/inbox-world.ts";
import { runCommand, startCommand } from "../support/command.ts";

const host = "laptop.example.com";
const secrets = { github: "a secret of github", stripe: "whsec_of_stripe", slack: "a secret of slack" } as const;
type Provider = keyof typeof secrets;

describe("postern http --inbox", { timeout: 180_000 }, () => {
  let world: InboxWorld;
  before(async () => {
    world = await startInboxWorld();
  });
  after(() => world.stop());

  const access = () => ({ env: { POSTERN_API_KEY: world.platform.apiKey } });
  const apiUrl = () => `http://127.0.0.1:${world.platform.apiPort}`;
  const start = () => {
    const { platform, servicePort } = world;
    writeFileSync(join(platform.directory, "trusted.pem"), platform.caPem);
    const webhooks = Object.entries(secrets).flatMap(([provider, secret]) => [
      "--inbox-webhook",
      `/${provider}=${provider}:${secret}`,
    ]);
    const server = ["--server", `127.0.0.1:${platform.agentPort}`, "--token", platform.authtoken];
    const ca = ["--ca", join(platform.directory, "trusted.pem"), "--api-url", apiUrl(), "--inspector", "off"];
    const asked = ["http", String(servicePort), "--inbox", "--url", `https://${host}:8443`, ...webhooks];
    return startCommand([...asked, ...server, ...ca], access());
  };
  const post = async (provider: Provider, body: string): Promise<number> => {
    const url = `https://${host}/${provider}/hook`;
    const { headers } = sign(provider, {
      secret: secrets[provider],
      body: Buffer.from(body),
      url,
      now: Date.now() - 100_000,
    });
    return (await world.platform.request(url, { method: "POST", headers, body })).status;
  };

  it("delivers ten webhooks of three providers in order, with valid signatures, after the laptop was closed", async () => {
    const first = start();
    assert.match(await first.firstLine(), /^https:\/\/laptop\.example\.com:8443 → /);
    await first.end();

    const providers: readonly Provider[] = ["github", "stripe", "slack"];
    const sent = Array.from(
      { length: 10 },
      (_, at) => [providers[at % 3] as Provider, `{"id":"evt_${at}","at":${at}}`] as const,
    );
    for (const [provider, body] of sent) assert.equal(await post(provider, body), 202, provider);
    const listed = await runCommand(["inbox", "list", "--api-url", apiUrl()], access());
    assert.equal(listed.stdout.trim().split("\n").length, 10);
    assert.match(listed.stdout, /waiting +\S+ +inbox_\w+ +POST \/github\/hook/);
    assert.equal(world.received.length, 0);

    const second = start();
    await world.arrived(10);
    for (const provider of providers) {
      const got = world.received.filter(({ url }) => url === `/${provider}/hook`);
      assert.deepEqual(
        got.map(({ body }) => body.toString()),
        sent.filter(([one]) => one === provider).map(([, body]) => body),
      );
      for (const { headers, body, url } of got) {
        const getAll = (name: string) => [headers[name] ?? []].flat();
        const message = { method: "POST", url: `https://${host}${url}`, headers: { getAll }, body };
        // The signature that arrived would be too old by now.
        const { wrong } = await verifyWebhook(provider, secrets[provider], message, Date.now() + 250_000);
        assert.equal(wrong, undefined, provider);
      }
    }
    await eventually(
      () => world.ok("GET", "/inbox_messages?state=delivered"),
      (page) => page.inbox_messages.length === 10,
    );
    const again = await runCommand(
      ["inbox", "deliver", "--provider", "stripe", "--dry-run", "--api-url", apiUrl()],
      access(),
    );
    assert.equal(again.stdout, "Would deliver 3 messages.\n");
    await second.end();
  });
});
