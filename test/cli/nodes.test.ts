/** `postern serve --cluster`: servers as separate processes on one PostgreSQL. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { freePorts, startCommand } from "../support/command.ts";
import { startChromium } from "../support/chromium.ts";
import { skipWithout } from "../support/programs.ts";
import { eventually } from "../support/eventually.ts";
import { startNode } from "../support/nodes.ts";
import type { NodeReply, ServerNode } from "../support/nodes.ts";
import { openWatched } from "../support/pages.ts";
import { databases } from "../support/postgres.ts";
import { startReceiver } from "../support/receiver.ts";

const postgres = databases.find(({ name }) => name === "postgres");

describe("postern serve --cluster", () => {
  it("postern serve --cluster without PostgreSQL is rejected in one sentence", async () => {
    const refused = await startCommand(["serve", "--cluster", "--data", "/nonexistent/x"], {
      env: { ...freePorts, POSTERN_DATABASE: "/tmp/no-such-directory/postern.db" },
    }).finished;
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /need a PostgreSQL database: set its URL/);
    assert.doesNotMatch(refused.stderr, /\n.*\n.*\n/);
  });

  if (!postgres) return;

  it("postern serve --cluster: servers that start simultaneously on an empty database share one account, and each stores for all", async () => {
    const place = await postgres.create();
    const [one, other] = await Promise.all([startNode(place.url), startNode(place.url)]);
    const made = await one.call("POST", "/ip_policies", { description: "of one" });
    assert.equal(made.status, 201, made.text);
    const path = `/ip_policies/${String(made.body["id"])}`;
    assert.deepEqual((await other.call("GET", path)).body["description"], "of one");
    const changed = await other.call("PATCH", path, { description: "of other" });
    assert.equal(changed.status, 200, changed.text);
    const stale = await one.call("PATCH", path, { description: "lost" }, { "if-match": made.etag ?? "" });
    assert.equal(stale.status, 412, stale.text);
    await one.until(path, ({ body }) => body["description"] === "of other");
    const accounts = await one.call("GET", "/accounts");
    assert.equal((accounts.body["accounts"] as readonly unknown[]).length, 1);
    await Promise.all([one.end(), other.end()]);
    await place.drop();
  });

  it("postern serve --cluster: every server lists all of them, also in the console, and a single server lists itself", async () => {
    const place = await postgres.create();
    const [one, other] = await Promise.all([
      startNode(place.url, { POSTERN_REGION: "fra" }),
      startNode(place.url, { POSTERN_REGION: "ams" }),
    ]);
    for (const node of [one, other]) {
      const { body } = await node.until("/nodes", (reply) => {
        const found = reply.body["nodes"] as readonly Record<string, unknown>[];
        return (
          found.length === 2 && found.every(({ api_url: url, configuration_revision: at }) => url !== "" && at !== 0)
        );
      });
      const listed = body["nodes"] as readonly Record<string, unknown>[];
      assert.deepEqual(new Set(listed.map(({ region }) => region)), new Set(["fra", "ams"]));
      assert.deepEqual(new Set(listed.map(({ api_url: url }) => url)), new Set([one.apiUrl, other.apiUrl]));
      assert.deepEqual(new Set(listed.map(({ lease }) => lease)), new Set(["held"]));
    }
    const look = await openNodes(one);
    try {
      await look?.has("fra", "ams");
      await other.end("SIGKILL");
      await one.until("/nodes", ({ body }) => (body["nodes"] as readonly unknown[]).length === 1);
      await look?.has("fra");
    } finally {
      await look?.done();
    }
    await one.end();
    await place.drop();
  });

  it("postern serve --cluster: an Idempotency-Key is valid at every server", async () => {
    const place = await postgres.create();
    const [one, other] = await Promise.all([startNode(place.url), startNode(place.url)]);
    const once = { "idempotency-key": "the-same" };
    const replies = await Promise.all(
      [one, other, one, other].map((node) => node.call("POST", "/ip_policies", { description: "once" }, once)),
    );
    assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([201]));
    assert.equal(new Set(replies.map(({ body }) => body["id"])).size, 1);
    await Promise.all([one.end(), other.end()]);
    await place.drop();
  });

  it("postern serve --cluster: after one server is killed the others still write, and it may return", async () => {
    const place = await postgres.create();
    const [one, other] = await Promise.all([startNode(place.url), startNode(place.url)]);
    await one.end("SIGKILL");
    const made = await other.call("POST", "/ip_policies", { description: "alone" });
    assert.equal(made.status, 201, made.text);
    const again = await startNode(place.url);
    assert.equal((await again.call("GET", `/ip_policies/${String(made.body["id"])}`)).status, 200);
    await Promise.all([again.end(), other.end()]);
    await place.drop();
  });

  it("postern serve --cluster: one server at a time delivers all events, and another takes over when it dies", async () => {
    const place = await postgres.create();
    const receiver = await startReceiver("http");
    const env = { POSTERN_ALLOW_LOCAL_UPSTREAMS: "true" };
    const nodes = await Promise.all([startNode(place.url, env), startNode(place.url, env)]);
    const [one, other] = nodes;
    const destination = await one.call("POST", "/event_destinations", { target: { webhook: { url: receiver.url } } });
    assert.equal(destination.status, 201, destination.text);
    const subscription = await other.call("POST", "/event_subscriptions", {
      description: "of both",
      sources: [{ type: "ip_policy_created.v0" }],
      destination_ids: [destination.body["id"]],
    });
    assert.equal(subscription.status, 201, subscription.text);
    const path = `/event_destinations/${String(destination.body["id"])}`;
    const delivered = ({ body }: NodeReply): number => (body["delivery"] as { readonly delivered: number }).delivered;
    await one.call("POST", "/ip_policies", { description: "a" });
    await other.call("POST", "/ip_policies", { description: "b" });
    await receiver.count(2);
    const counts = await Promise.all(nodes.map(async (node) => delivered(await node.call("GET", path))));
    const holder = counts[0] === 0 ? other : one;
    const next = holder === one ? other : one;
    assert.equal(delivered(await next.call("GET", path)), 0);
    await holder.end("SIGKILL");
    await next.call("POST", "/ip_policies", { description: "c" });
    await next.until(path, (reply) => delivered(reply) > 0);
    const told = receiver.received.map(({ event }) => event.object.description);
    // Deliveries that the dead server had no time to record are repeated once.
    assert.deepEqual(new Set(told), new Set(["a", "b", "c"]));
    await next.end();
    await receiver.stop();
    await place.drop();
  });

  it("postern serve --cluster and a lone server keep each other out of the database", async () => {
    const place = await postgres.create();
    const node = await startNode(place.url);
    const env = { ...freePorts, POSTERN_DATABASE: place.url, POSTERN_DATA: `/tmp/postern-lone-${process.pid}` };
    const lone = await startCommand(["serve"], { env }).finished;
    assert.equal(lone.code, 2, lone.stderr);
    assert.match(lone.stderr, /another process has it open/);
    await node.end();
    await place.drop();
  });

  it("postern serve --cluster: a server suspended past its lease logs it, and rejoins automatically", async () => {
    const place = await postgres.create();
    const [one, other] = await Promise.all([startNode(place.url), startNode(place.url)]);
    await other.until("/metrics", ({ text }) => /^postern_nodes 2$/m.test(text));
    process.kill(one.pid, "SIGSTOP");
    // The other server deletes its row, because its lease has expired.
    await other.until("/metrics", ({ text }) => /^postern_nodes 1$/m.test(text));
    process.kill(one.pid, "SIGCONT");
    await other.until("/metrics", ({ text }) => /^postern_nodes 2$/m.test(text));
    assert.match(one.stderr(), /lease has expired/);
    assert.match(one.stderr(), /joined the others again/);
    const made = await one.call("POST", "/ip_policies", { description: "back" });
    assert.equal(made.status, 201, made.text);
    await Promise.all([one.end(), other.end()]);
    await place.drop();
  });
});

/** Opens the console's list of servers in a real browser, if one is installed. */
async function openNodes({ apiUrl, call }: ServerNode) {
  if (skipWithout("chromium")) return undefined;
  const { body } = await call("POST", "/console_links");
  const chromium = await startChromium();
  const { page, assertQuiet } = await openWatched(chromium, apiUrl);
  await page.goto(String(body["url"]));
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await page.goto(`${apiUrl}/#/objects/node`);
  return {
    /** Waits until the list has a row for each of these regions, and no other. */
    async has(...regions: readonly string[]): Promise<void> {
      const rows = page.locator(".body-row");
      await eventually(
        async () => (await rows.allInnerTexts()).map((text) => regions.find((one) => text.includes(one))),
        (found) => found.length === regions.length && regions.every((one) => found.includes(one)),
      );
    },
    async done(): Promise<void> {
      await chromium.close();
      assertQuiet();
    },
  };
}
