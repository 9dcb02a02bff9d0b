import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { hashToken } from "../../src/lib/tokens.ts";
import type { Downward } from "../../src/routing/planes/messages.ts";
import { startApi } from "../support/api.ts";
import { makeManualClock } from "../support/clock.ts";
import { databases } from "../support/postgres.ts";

const sqlite = databases[0] as (typeof databases)[number];

describe("what the edge is told", () => {
  it("what the edge is told is everything on hello, and then each commit in order of its revision", async () => {
    const api = await startApi(sqlite);
    try {
      for (let count = 0; count < 600; count += 100) {
        await Promise.all(Array.from({ length: 100 }, () => api.ok("POST", "/ip_policies", {})));
      }
      assert.deepEqual(api.edge.received, []);
      api.edge.send({ type: "hello", edgeId: "edge" });
      const sent = api.edge.received.splice(0);
      assert.deepEqual(sent.pop(), { type: "traffic_wanted", wanted: [] });
      const snapshot = sent as Extract<Downward, { type: "snapshot" }>[];
      assert.deepEqual(
        snapshot.map((one) => one.last),
        [false, true],
      );
      const kinds = new Set(snapshot.flatMap((one) => one.objects.map(({ kind }) => kind)));
      assert.deepEqual([...kinds].sort(), ["account", "credential", "ip_policy", "login_key"]);
      const revision = snapshot[0]?.revision as number;
      await Promise.all(Array.from({ length: 50 }, (_, index) => api.ok("POST", "/bot_users", { name: `b${index}` })));
      const bot = (await api.ok("GET", "/bot_users?limit=1")).bot_users[0];
      await api.ok("DELETE", `/bot_users/${bot.id}`);
      const changes = api.edge.received as Extract<Downward, { type: "changes" }>[];
      const told = changes.flatMap((one) => one.changes.map(({ object }) => object?.revision ?? one.revision));
      assert.deepEqual(
        told,
        Array.from({ length: 51 }, (_, index) => revision + 1 + index),
      );
      assert.deepEqual(
        changes.map((one) => one.revision),
        changes.map((one) => one.changes.at(-1)?.object?.revision ?? one.revision),
      );
      assert.deepEqual([changes.at(-1)?.changes[0]?.id, changes.at(-1)?.changes[0]?.object], [bot.id, null]);
    } finally {
      await api.stop();
    }
  });

  it("a key of logins that is due is made once, however many minutes pass until the database has it", async () => {
    const clock = makeManualClock();
    const api = await startApi(sqlite, { clock });
    try {
      api.edge.send({ type: "hello", edgeId: "edge" });
      clock.pass(86_400_000 - 60_000);
      await api.ok("GET", "/ip_policies");
      clock.pass(10 * 60_000);
      await api.ok("POST", "/ip_policies", {});
      const changes = api.edge.received.flatMap((one) => (one.type === "changes" ? one.changes : []));
      assert.deepEqual(
        changes.map(({ kind }) => kind),
        ["login_key", "ip_policy"],
      );
    } finally {
      await api.stop();
    }
  });

  it("K5: what the edge is told has agent tokens as hashes only, and no API keys at all", async () => {
    const api = await startApi(sqlite);
    try {
      const { token } = await api.ok("POST", "/credentials", { acl: ["bind:*.example.com"] });
      await api.ok("POST", "/api_keys", {});
      api.edge.send({ type: "hello", edgeId: "edge" });
      const text = JSON.stringify(api.edge.received);
      assert.ok(!text.includes(token) && !text.includes("api_key"));
      assert.ok(text.includes(hashToken(token).toString("hex")));
    } finally {
      await api.stop();
    }
  });
});
