/** `postern serve --cluster`: servers as processes of their own on one PostgreSQL. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { freePorts, startCommand } from "../support/command.ts";
import { startNode } from "../support/nodes.ts";
import { databases } from "../support/postgres.ts";

const postgres = databases.find(({ name }) => name === "postgres");

describe("postern serve --cluster", () => {
  it("postern serve --cluster without PostgreSQL is refused in a sentence", async () => {
    const refused = await startCommand(["serve", "--cluster", "--data", "/nonexistent/x"], {
      env: { ...freePorts, POSTERN_DATABASE: "/tmp/no-such-directory/postern.db" },
    }).finished;
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /share a PostgreSQL database: give its URL/);
    assert.doesNotMatch(refused.stderr, /\n.*\n.*\n/);
  });

  if (!postgres) return;

  it("postern serve --cluster: servers that start at once on an empty database have one account, and what one stores is at the other", async () => {
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

  it("postern serve --cluster: an Idempotency-Key holds at every server", async () => {
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

  it("postern serve --cluster: a server that is killed leaves the others writing, and may come back", async () => {
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

  it("postern serve --cluster: a server that stands still past its lease says so, and joins again by itself", async () => {
    const place = await postgres.create();
    const [one, other] = await Promise.all([startNode(place.url), startNode(place.url)]);
    await other.until("/metrics", ({ text }) => /^postern_nodes 2$/m.test(text));
    process.kill(one.pid, "SIGSTOP");
    // Its row is deleted by the other one, which has found its lease dead.
    await other.until("/metrics", ({ text }) => /^postern_nodes 1$/m.test(text));
    process.kill(one.pid, "SIGCONT");
    await other.until("/metrics", ({ text }) => /^postern_nodes 2$/m.test(text));
    assert.match(one.stderr(), /lease is over/);
    assert.match(one.stderr(), /joined the others again/);
    const made = await one.call("POST", "/ip_policies", { description: "back" });
    assert.equal(made.status, 201, made.text);
    await Promise.all([one.end(), other.end()]);
    await place.drop();
  });
});
