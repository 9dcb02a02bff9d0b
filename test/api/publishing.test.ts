import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { hashToken } from "../../src/lib/tokens.ts";
import type { Downward } from "../../src/routing/planes/messages.ts";
import { startApi } from "../support/api.ts";
import { makeManualClock } from "../support/clock.ts";
import { databases } from "../support/postgres.ts";

const sqlite = databases[0] as (typeof databases)[number];

describe("the configuration sent to the edge", () => {
  it("the configuration sent to the edge is everything after its start, and then each commit in order of its revision", async () => {
    const api = await startApi(sqlite);
    try {
      for (let count = 0; count < 600; count += 100) {
        await Promise.all(Array.from({ length: 100 }, () => api.ok("POST", "/ip_policies", {})));
      }
      assert.deepEqual(api.edge.received, []);
      api.edge.send({ type: "hello", edgeId: "edge" });
      const sent = api.edge.received.splice(0).filter(({ type }) => type !== "ticket_secret");
      assert.deepEqual(sent.pop(), { type: "traffic_wanted", wanted: [] });
      const snapshot = sent as Extract<Downward, { type: "snapshot" }>[];
      assert.deepEqual(
        snapshot.map((one) => one.last),
        [false, true],
      );
      const kinds = new Set(snapshot.flatMap((one) => one.objects.map(({ kind }) => kind)));
      assert.deepEqual([...kinds].sort(), ["account", "credential", "ip_policy", "login_key"]);
      const revision = snapshot[0]?.revision as number;
      await Promise.all(Array.from({ length: 50 }, () => api.ok("POST", "/ip_policies", {})));
      const policy = (await api.ok("GET", "/ip_policies?limit=1")).ip_policies[0];
      await api.ok("DELETE", `/ip_policies/${policy.id}`);
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
      assert.deepEqual([changes.at(-1)?.changes[0]?.id, changes.at(-1)?.changes[0]?.object], [policy.id, null]);
    } finally {
      await api.stop();
    }
  });

  it("the configuration sent to the edge contains bot users that own tokens, each before its token", async () => {
    const api = await startApi(sqlite);
    const told = (): readonly (readonly [kind: string, id: string, active: unknown])[] =>
      api.edge.received.splice(0).flatMap((one) => {
        if (one.type === "snapshot") return one.objects.map(({ kind, id, doc }) => [kind, id, doc["active"]] as const);
        if (one.type !== "changes") return [];
        return one.changes.map(({ kind, id, object }) => [kind, id, object?.doc["active"]] as const);
      });
    try {
      const [unused, early, late] = await Promise.all(
        ["unused", "early", "late"].map((name) => api.ok("POST", "/bot_users", { name })),
      );
      await api.ok("POST", "/credentials", { owner_id: early.id });
      api.edge.send({ type: "hello", edgeId: "edge" });
      const bots = told().filter(([kind]) => kind === "bot_user");
      assert.deepEqual(bots, [["bot_user", early.id, true]]);
      await api.ok("PATCH", `/bot_users/${unused.id}`, { active: false });
      await api.ok("PATCH", `/bot_users/${late.id}`, { active: false });
      assert.deepEqual(told(), []);
      const token = await api.ok("POST", "/credentials", { owner_id: late.id });
      assert.deepEqual(told(), [
        ["bot_user", late.id, false],
        ["credential", token.id, undefined],
      ]);
      await api.ok("PATCH", `/bot_users/${late.id}`, { active: true });
      assert.deepEqual(told(), [["bot_user", late.id, true]]);
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

  it("K5: the configuration sent to the edge has agent tokens as hashes only, and no API keys", async () => {
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
