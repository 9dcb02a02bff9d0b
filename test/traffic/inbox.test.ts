/** The inbox of a route: webhooks are stored, acknowledged, and delivered when the service is there. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { sign } from "../../src/webhooks/verify.ts";
import { startInboxWorld } from "../support/inbox-world.ts";
import type { InboxWorld } from "../support/inbox-world.ts";

const secret = "a secret of the test";

describe("an inbox", { timeout: 120_000 }, () => {
  let world: InboxWorld;
  before(async () => {
    world = await startInboxWorld();
  });
  after(() => world.stop());

  const post = (path: string, body: string, headers: Readonly<Record<string, string>> = {}) =>
    world.platform.request(`https://${world.host}${path}`, { method: "POST", headers, body });

  it("stores a webhook while no agent is connected, and delivers it unchanged once the agent is there", async () => {
    const { host } = world;
    const provider = "github";
    await world.route("/late", {
      webhook_verification: { enabled: true, provider, secret },
      inbox: { enabled: true },
    });
    const body = '{"zen":"Keep it logically awesome."}';
    const url = `https://${host}/late/hook?a=b`;
    const { headers } = sign(provider, { secret, body: Buffer.from(body), url, now: Date.now() });
    const answer = await post("/late/hook?a=b", body, { ...headers, "x-github-event": "ping" });
    assert.equal(answer.status, 202);
    assert.equal(answer.text, "");
    assert.equal((await post("/late/hook", body, { "x-hub-signature-256": "sha256=00" })).status, 403);

    const agent = await world.startAgent();
    await world.arrived(1);
    const [got] = world.received;
    assert.equal(world.received.length, 1);
    assert.equal(got?.url, "/late/hook?a=b");
    assert.equal(got?.body.toString(), body);
    assert.equal(got?.headers["x-hub-signature-256"], headers["x-hub-signature-256"]);
    assert.equal(got?.headers["x-github-event"], "ping");
    assert.equal(got?.headers["postern-inbox-id"], answer.headers["postern-inbox-id"]);
    assert.equal(got?.headers["postern-inbox-attempt"], "1");
    assert.equal(got?.headers["idempotency-key"], answer.headers["postern-inbox-id"]);
    await agent.close();
  });
});
