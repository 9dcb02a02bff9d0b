/** Invitations of agents, and the trade of their secrets for tokens as an edge asks for it. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { parseJoinCode } from "../../src/lib/join-code.ts";
import type { AgentJoined, Upward } from "../../src/routing/planes/messages.ts";
import { startApi, withStore } from "../support/api.ts";
import type { Body, TestApi } from "../support/api.ts";
import { makeManualClock } from "../support/clock.ts";
import { eventually } from "../support/eventually.ts";
import { databases } from "../support/postgres.ts";

const hourMs = 3_600_000;

for (const database of databases) {
  describe(`agent invitations on ${database.name}`, () => {
    const clock = makeManualClock();
    let api: TestApi;
    let calls = 0;
    before(async () => {
      api = await startApi(database, { clock, edgeCount: 2 });
      api.edge.send({ type: "hello", edgeId: "edge_1", agentPort: 4500 });
    });
    after(() => api.stop());

    const invite = (body: Body = {}): Promise<Body> => api.ok("POST", "/agent_invitations", body);
    const hashOf = (code: string): string => createHash("sha256").update(parseJoinCode(code).secret).digest("hex");
    /** What the edge `at` is answered. */
    const join = async (secretHash: string, name = "laptop", at = 0): Promise<AgentJoined | null | undefined> => {
      const edge = api.edges[at] as TestApi["edge"];
      const call = (calls += 1);
      edge.send({ type: "join", call, secretHash, name, ip: "192.0.2.9" } satisfies Upward);
      const answered = await eventually(
        () => edge.received.find((one) => one.type === "joined" && one.call === call),
        (one) => one !== undefined,
      );
      return answered?.type === "joined" ? answered.joined : undefined;
    };

    it(`agent invitations on ${database.name} name the server, expire after an hour and work once by default`, async () => {
      const made = await invite({ description: "for Ann" });
      const { host, port, secret } = parseJoinCode(made.code);
      assert.deepEqual([host, port, secret.length], ["postern.test", 4500, 20]);
      assert.deepEqual([made.uses, made.used, made.acl, made.token_expires_at], [1, 0, [], null]);
      assert.equal(Date.parse(made.expires_at), Math.floor((clock.now() + hourMs) / 1000) * 1000);
      const joined = await join(hashOf(made.code), "ann's laptop");
      assert.match(joined?.token ?? "", /^postern_at_/);
      assert.equal(await join(hashOf(made.code)), null);
      assert.equal((await api.ok("GET", `/agent_invitations/${made.id}`)).used, 1);
    });

    it(`G14: agent invitations on ${database.name} show the code only once and store a hash of its secret`, async () => {
      const place = await database.create();
      const own = await startApi(database, { databaseUrl: place.url });
      const made = await own.ok("POST", "/agent_invitations", {});
      const path = `/agent_invitations/${made.id}`;
      const read = await own.ok("GET", path);
      const renamed = await own.ok("PATCH", path, { description: "later" });
      const texts = await Promise.all(["/agent_invitations", "/revisions"].map((one) => own.request("GET", one)));
      await own.stop();
      assert.deepEqual([read.code, renamed.code, renamed.description], [null, null, "later"]);
      const { secret } = parseJoinCode(made.code);
      await withStore(place.url, async (store) => {
        const stored = JSON.stringify([...store.objects(new Set(["agent_invitation"]))]);
        assert.ok(stored.includes(hashOf(made.code)));
        const shown = [stored, ...texts.map(({ text }) => text)].join();
        for (const text of [made.code, secret.toString("base64url"), secret.toString("hex")]) {
          assert.ok(!shown.includes(text));
        }
      });
      await place.drop();
    });

    it(`G14: agent invitations on ${database.name} that are unknown, expired, used up or deleted get one answer`, async () => {
      const [used, expired, deleted] = [
        await invite(),
        await invite({ expires_at: later(hourMs / 2) }),
        await invite(),
      ];
      assert.ok(await join(hashOf(used.code)));
      await api.ok("DELETE", `/agent_invitations/${deleted.id}`);
      clock.step(hourMs / 2);
      for (const hash of [hashOf(used.code), hashOf(expired.code), hashOf(deleted.code), "0".repeat(64)]) {
        assert.equal(await join(hash), null);
      }
      assert.equal((await api.ok("GET", `/agent_invitations/${expired.id}`)).used, 0);
    });

    it(`agent invitations on ${database.name} give each agent a token with the invitation's ACL, expiry and metadata`, async () => {
      const given = {
        acl: ["bind:*.dev.example.com"],
        metadata: "team-a",
        token_expires_at: later(30 * hourMs),
        uses: 2,
      };
      const made = await invite(given);
      assert.ok(await join(hashOf(made.code), "one"));
      assert.ok(await join(hashOf(made.code), "two"));
      const { credentials } = await api.ok("GET", "/credentials?limit=2");
      assert.deepEqual(
        credentials.map(({ description, acl, metadata, expires_at: end }: Body) => [description, acl, metadata, end]),
        ["two", "one"].map((name) => [name, made.acl, "team-a", made.token_expires_at]),
      );
    });

    it(`G14: agent invitations on ${database.name} of one use admit one of many agents at two edges`, async () => {
      const made = await invite();
      const all = await Promise.all(
        Array.from({ length: 8 }, (_, at) => join(hashOf(made.code), `agent ${at}`, at % 2)),
      );
      assert.equal(all.filter((one) => one).length, 1);
      const joins = await api.ok("GET", `/revisions?principal=${made.id}`);
      assert.equal(joins.revisions.length, 1);
    });

    it(`agent invitations on ${database.name} are in the history with who invited and who joined`, async () => {
      const made = await invite();
      await join(hashOf(made.code), "build-3");
      const [creation] = (await api.ok("GET", `/revisions?operation=createAgentInvitation&limit=1`)).revisions;
      assert.match(creation.principal, /^ak_/);
      const [joining] = (await api.ok("GET", `/revisions?principal=${made.id}`)).revisions;
      assert.deepEqual([joining.operation, joining.source], ["joinAgent", "192.0.2.9"]);
      assert.deepEqual(joining.changes.map(({ kind }: Body) => kind).sort(), ["agent_invitation", "credential"]);
    });

    it(`agent invitations on ${database.name} refuse what is too long, in the past or beyond the key's end`, async () => {
      const { token: key } = await api.ok("POST", "/api_keys", { expires_at: later(hourMs / 4) });
      for (const [body, path, by] of [
        [{ expires_at: later(-1000) }, "expires_at", undefined],
        [{ expires_at: later(31 * 24 * hourMs) }, "expires_at", undefined],
        [{ token_expires_at: later(-1000) }, "token_expires_at", undefined],
        [{ uses: 1001 }, "uses", undefined],
        [{ acl: ["nonsense"] }, "acl[0]", undefined],
        [{ token_expires_at: later(hourMs) }, "token_expires_at", key],
        [{}, "token_expires_at", key],
      ] as const) {
        const refused = await api.request("POST", "/agent_invitations", { body, ...(by && { key: by }) });
        assert.equal(refused.status, 400, refused.text);
        assert.ok(path in refused.body.details, refused.text);
      }
      const made = await api.ok("POST", "/agent_invitations", { token_expires_at: later(hourMs / 5) }, key);
      assert.ok(Date.parse(made.expires_at) <= clock.now() + hourMs / 4);
    });

    it(`K5: agent invitations on ${database.name} by limited keys give no more than the key has`, async () => {
      const keyWith = async (...scopes: string[]): Promise<string> =>
        (await api.ok("POST", "/api_keys", { scopes })).token;
      const refused = async (key: string, body: Body): Promise<string> => {
        const answer = await api.request("POST", "/agent_invitations", { key, body });
        assert.equal(answer.status, 403, answer.text);
        return answer.body.details.scope;
      };
      assert.equal(await refused(await keyWith("read"), {}), "write");
      assert.equal(await refused(await keyWith("type:agent_invitation"), {}), "type:credential");
      assert.equal(await refused(await keyWith("metadata:team-b", "secrets"), { metadata: "team-b" }), "*");
      const both = await keyWith("type:agent_invitation", "type:credential", "secrets");
      assert.equal((await api.request("POST", "/agent_invitations", { key: both, body: {} })).status, 201);
    });

    it(`agent invitations on ${database.name} are deleted a week after they expired`, async () => {
      const made = await invite();
      clock.pass(8 * 24 * hourMs);
      await eventually(
        () => api.request("GET", `/agent_invitations/${made.id}`),
        ({ status }) => status === 404,
      );
    });

    function later(ms: number): string {
      return new Date(clock.now() + ms).toISOString();
    }
  });
}
