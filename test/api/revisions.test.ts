import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { startApi } from "../support/api.ts";
import type { ApiResponse, Body, TestApi } from "../support/api.ts";
import { databases } from "../support/postgres.ts";

for (const database of databases) {
  describe(`revisions on ${database.name}`, () => {
    let api: TestApi;
    let tenantKey: string;
    before(async () => {
      api = await startApi(database);
      tenantKey = (await api.ok("POST", "/accounts", { name: "tenant" })).api_key;
    });
    after(() => api.stop());

    const numberOf = (response: ApiResponse): number => Number(response.headers["postern-revision"]);
    const rollback = (to: number, headers: Record<string, string> = {}, key?: string) =>
      api.request("POST", `/revisions/${to}/rollback`, { headers, ...(key !== undefined && { key }) });

    it(`revisions on ${database.name} preserve the reason in any script, however it was sent`, async () => {
      const bytes = (text: string) => Buffer.from(text).toString("latin1");
      for (const [sent, kept] of [
        ["caf%C3%A9", "café"],
        ["%E6%9D%B1%e4%ba%ac %F0%9F%9A%80", "東京 🚀"],
        [bytes("東京, as it is"), "東京, as it is"],
        ["caf\u00e9, in Latin-1", "café, in Latin-1"],
        ["50% off, 100 %", "50% off, 100 %"],
        ["%25 and %2525", "% and %25"],
        ["x".repeat(255), "x".repeat(255)],
        [" %E2%82%AC".repeat(63), "€ ".repeat(63).trimEnd()],
      ] as const) {
        const response = await api.request("POST", "/ip_policies", { body: {}, headers: { "postern-reason": sent } });
        assert.equal(response.status, 201, response.text);
        assert.equal((await api.ok("GET", `/revisions/${numberOf(response)}`)).reason, kept);
      }
    });

    it(`revisions on ${database.name} are not made for a reason that would have to be cut or guessed`, async () => {
      const count = async () => (await api.ok("GET", "/ip_policies")).ip_policies.length as number;
      const before = await count();
      for (const reason of [
        "x".repeat(256),
        "%C3%A9".repeat(128),
        "\u00e9".repeat(128),
        "%FF",
        "caf\u00e9 %C3",
        "a%0Ab",
        "a%00",
      ]) {
        const refused = await api.request("POST", "/ip_policies", { body: {}, headers: { "postern-reason": reason } });
        assert.deepEqual([refused.status, refused.body.error_code], [400, errorCode("reason_invalid")], reason);
      }
      assert.equal(await count(), before);
    });

    it(`P6: revisions on ${database.name} record who wrote what, when, from where and why, with each field before and after`, async () => {
      const { id } = await api.ok("POST", "/ip_policies", { description: "before" });
      const headers = { "postern-reason": "ticket 7" };
      const body = { description: "after" };
      const changed = await api.request("PATCH", `/ip_policies/${id}`, { body, headers });
      const revision = await api.ok("GET", `/revisions/${numberOf(changed)}`);
      const { created_at, hash, principal, ...rest } = revision;
      assert.match(created_at, /^\d{4}-.*Z$/);
      assert.match(hash, /^[0-9a-f]{64}$/);
      assert.match(principal, /^ak_/);
      assert.deepEqual(rest, {
        revision: numberOf(changed),
        uri: `${api.baseUrl}/revisions/${numberOf(changed)}`,
        source: "127.0.0.1",
        operation: "updateIPPolicy",
        operation_id: changed.headers["postern-operation-id"],
        reason: "ticket 7",
        changes: [
          {
            action: "update",
            kind: "ip_policy",
            id,
            uri: changed.body.uri,
            fields: [{ path: "description", before: "before", after: "after" }],
          },
        ],
        more_changes: false,
      });
      const deleted = numberOf(await api.request("DELETE", `/ip_policies/${id}`));
      assert.deepEqual((await api.ok("GET", `/revisions/${deleted}`)).changes, [
        {
          action: "delete",
          kind: "ip_policy",
          id,
          uri: "",
          fields: [{ path: "description", before: "after", after: null }],
        },
      ]);
    });

    it(`revisions on ${database.name} are listed newest first, in pages, and by principal, operation, kind and object`, async () => {
      const bot = await api.ok("POST", "/bot_users", { name: "listed" });
      const key = await api.ok("POST", "/api_keys", { description: "second" });
      await api.ok("PATCH", `/bot_users/${bot.id}`, { active: false }, key.token);
      const all = await every(`/revisions`);
      const numbers = all.map(({ revision }) => revision);
      assert.deepEqual(
        numbers,
        numbers.toSorted((a, b) => b - a),
      );
      assert.deepEqual(await every("/revisions?limit=3"), all);
      const found = async (query: string) => (await every(`/revisions?limit=1&${query}`)).map((one) => one.operation);
      assert.deepEqual(await found(`object_id=${bot.id}`), ["updateBotUser", "createBotUser"]);
      assert.deepEqual(await found(`principal=${key.id}`), ["updateBotUser"]);
      assert.deepEqual(await found("kind=bot_user&operation=createBotUser"), ["createBotUser"]);
      assert.deepEqual(await found("object_id=bot_none"), []);
      for (const query of ["kind=nothing", "before_id=x", "limit=0", "who=me"]) {
        assert.equal((await api.request("GET", `/revisions?${query}`)).status, 400, query);
      }
    });

    it(`K4: revisions on ${database.name} show that a secret changed, and never its value`, async () => {
      const edge = await api.ok("POST", "/edges/https", {});
      const webhook = (secret: string) => ({ webhook_verification: { provider: "github", secret } });
      const route = await api.ok("POST", `/edges/https/${edge.id}/routes`, {
        match_type: "path_prefix",
        match: "/",
        ...webhook("s3cret-one"),
      });
      await api.ok("PATCH", `/edges/https/${edge.id}/routes/${route.id}`, webhook("s3cret-two"));
      const vault = await api.ok("POST", "/vaults", { name: "v" });
      await api.ok("POST", "/vault_secrets", { vault_id: vault.id, name: "s", value: "s3cret-three" });
      const { token } = await api.ok("POST", "/credentials", {});
      const list = await api.request("GET", "/revisions");
      assert.ok(!list.text.includes("s3cret") && !list.text.includes(token) && !list.text.includes("token_hash"));
      const update = list.body.revisions.find((one: Body) => one.operation === "updateHTTPSEdgeRoute");
      assert.deepEqual(update.changes[0].fields, [
        { path: "webhook_verification.secret", before: "***", after: "***" },
      ]);
    });

    it(`P1: revisions on ${database.name} are of one account`, async () => {
      const made = await api.request("POST", "/ip_policies", { body: {} });
      const foreign = await api.request("GET", `/revisions/${numberOf(made)}`, { key: tenantKey });
      assert.deepEqual([foreign.status, foreign.body.error_code], [404, errorCode("revision_unknown")]);
      assert.deepEqual((await api.ok("GET", "/revisions", undefined, tenantKey)).revisions, []);
      for (const id of ["0", "-1", "x", "999999999"]) {
        assert.equal((await api.request("GET", `/revisions/${id}`)).status, 404, id);
        assert.equal((await api.request("POST", `/revisions/${id}/rollback`)).status, 404, id);
      }
    });

    it(`revisions on ${database.name} require a key and the version, to be read and to roll back`, async () => {
      for (const [method, path] of [
        ["GET", "/revisions"],
        ["GET", "/revisions/1"],
        ["POST", "/revisions/1/rollback"],
      ] as const) {
        assert.equal((await api.request(method, path, { headers: { authorization: undefined } })).status, 401);
        assert.equal((await api.request(method, path, { headers: { "service-version": "9" } })).status, 400);
      }
    });

    it(`revisions on ${database.name} can be rolled back to, as one new revision with everything as it was`, async () => {
      const tenant = tenantKey;
      const ok = (method: string, path: string, body?: unknown) => api.ok(method, path, body, tenant);
      const policy = await ok("POST", "/ip_policies", { description: "office" });
      const rule = await ok("POST", "/ip_policy_rules", {
        ip_policy_id: policy.id,
        cidr: "192.0.2.0/24",
        action: "allow",
      });
      const edge = await ok("POST", "/edges/https", { hostports: ["back.example.com:443"] });
      const route = await ok("POST", `/edges/https/${edge.id}/routes`, {
        match_type: "path_prefix",
        match: "/",
        webhook_verification: { provider: "github", secret: "kept" },
        ip_restriction: { ip_policy_ids: [policy.id] },
      });
      const saml = { idp_metadata: '<EntityDescriptor entityID="x"></EntityDescriptor>' };
      await ok("PUT", `/edges/https/${edge.id}/routes/${route.id}/saml`, saml);
      const good = await api.request("GET", `/edges/https/${edge.id}`, { key: tenant });
      const lists = ["/ip_policies", "/ip_policy_rules", "/edges/https", "/reserved_domains", "/bot_users"];
      const state = async (): Promise<Body[]> => Promise.all(lists.map((path) => ok("GET", path)));
      const wanted = await state();

      await ok("DELETE", `/edges/https/${edge.id}`);
      await ok("DELETE", `/ip_policies/${policy.id}`);
      const { reserved_domains } = await ok("GET", "/reserved_domains");
      for (const { id } of reserved_domains) await ok("DELETE", `/reserved_domains/${id}`);
      await ok("POST", "/edges/https", { hostports: ["back.example.com:443"] });
      await ok("POST", "/bot_users", { name: "new" });
      const before = numberOf(await api.request("GET", "/ip_policies", { key: tenant }));
      const response = await rollback(numberOf(good), { "postern-reason": "undo" }, tenant);
      assert.equal(response.status, 200, response.text);
      assert.deepEqual(await state(), wanted);
      assert.equal(response.body.revision, before + 1);
      assert.deepEqual(response.body.summary, { create: 5, update: 0, delete: 3, unchanged: 0 });
      assert.ok(!response.text.includes("kept"));
      assert.equal((await ok("GET", `/ip_policy_rules/${rule.id}`)).created_at, rule.created_at);
      const { revisions } = await ok("GET", "/revisions?limit=1");
      assert.deepEqual([revisions[0].operation, revisions[0].reason], ["rollbackToRevision", "undo"]);

      const again = await rollback(numberOf(good), {}, tenant);
      assert.deepEqual([again.body.revision, again.body.changes], [before + 1, []]);
    });

    it(`revisions on ${database.name} preview a rollback without changing anything`, async () => {
      const [policy, gone] = [
        await api.request("POST", "/ip_policies", { body: { description: "as it was" }, key: tenantKey }),
        await api.request("POST", "/bot_users", { body: { name: "to come back" }, key: tenantKey }),
      ];
      await api.ok("PATCH", `/ip_policies/${policy.body.id}`, { description: "changed" }, tenantKey);
      await api.ok("DELETE", `/bot_users/${gone.body.id}`, undefined, tenantKey);
      const path = `/revisions/${numberOf(gone)}/rollback`;
      const headers = { "idempotency-key": "dry-run" };
      const before = numberOf(await api.request("GET", "/bot_users", { key: tenantKey }));
      const dry = await api.request("POST", `${path}?dry_run=true`, { key: tenantKey, headers });
      assert.equal(dry.status, 200, dry.text);
      assert.deepEqual([dry.body.applied, dry.body.revision], [false, before]);
      assert.deepEqual(dry.body.summary, { create: 1, update: 1, delete: 0, unchanged: 0 });
      const after = await api.request("GET", "/bot_users", { key: tenantKey });
      assert.deepEqual([numberOf(after), after.body.bot_users.length], [before, 0]);
      const done = await api.request("POST", path, { key: tenantKey, headers });
      assert.deepEqual([done.body.applied, done.body.revision], [true, before + 1]);
      assert.deepEqual(done.body.changes, dry.body.changes);
      const nothing = await api.request("POST", `${path}?dry_run=true`, { key: tenantKey });
      assert.deepEqual(nothing.body.changes, []);
      const wrong = await api.request("POST", `${path}?dry_run=maybe`, { key: tenantKey });
      assert.deepEqual([wrong.status, wrong.body.error_code], [400, errorCode("query_invalid")]);
    });

    it(`revisions on ${database.name} refuse a rollback that is only tried as they would the rollback`, async () => {
      const made = await api.request("POST", "/reserved_domains", { body: { domain: "tried.example.com" } });
      await api.ok("DELETE", `/reserved_domains/${made.body.id}`);
      await api.ok("POST", "/reserved_domains", { domain: "tried.example.com" }, tenantKey);
      const held = await api.request("POST", `/revisions/${numberOf(made)}/rollback?dry_run=true`);
      assert.deepEqual([held.status, held.body.error_code], [409, errorCode("domain_held")], held.text);
    });

    it(`revisions on ${database.name} give names back that objects have exchanged since`, async () => {
      const [left, right] = [
        await api.ok("POST", "/bot_users", { name: "left" }),
        await api.request("POST", "/bot_users", { body: { name: "right" } }),
      ];
      await api.ok("PATCH", `/bot_users/${left.id}`, { name: "between" });
      await api.ok("PATCH", `/bot_users/${right.body.id}`, { name: "left" });
      await api.ok("PATCH", `/bot_users/${left.id}`, { name: "right" });
      assert.equal((await rollback(numberOf(right))).status, 200);
      assert.equal((await api.ok("GET", `/bot_users/${left.id}`)).name, "left");
    });

    it(`revisions on ${database.name} cannot be rolled back to if a rule would be violated, and the answer says why`, async () => {
      const start = numberOf(await api.request("GET", "/bot_users"));
      const domain = await api.request("POST", "/reserved_domains", { body: { domain: "lost.example.com" } });
      await api.ok("DELETE", `/reserved_domains/${domain.body.id}`);
      await api.ok("POST", "/reserved_domains", { domain: "lost.example.com" }, tenantKey);
      const held = await rollback(numberOf(domain));
      assert.deepEqual([held.status, held.body.error_code], [409, errorCode("domain_held")], held.text);
      assert.equal(held.body.details.object_id, domain.body.id);

      const bot = await api.ok("POST", "/bot_users", { name: "owner of a key" });
      await api.ok("POST", "/api_keys", { owner_id: bot.id });
      const used = await rollback(start);
      assert.deepEqual([used.status, used.body.error_code], [409, errorCode("in_use")], used.text);
      assert.equal((await api.ok("GET", `/bot_users/${bot.id}`)).name, "owner of a key");
    });

    it(`K5: revisions on ${database.name} do not restore keys and agent tokens: revoked ones stay revoked`, async () => {
      const made = await api.request("POST", "/api_keys", { body: {} });
      const { id, token } = made.body;
      await api.request("DELETE", `/api_keys/${id}`);
      const kept = await api.ok("POST", "/api_keys", {});
      assert.equal((await rollback(numberOf(made))).status, 200);
      assert.equal((await api.request("GET", "/bot_users", { key: token })).status, 401);
      assert.equal((await api.request("GET", "/bot_users", { key: kept.token })).status, 200);
    });

    it(`P7: a rollback happens once per Idempotency-Key, and takes writes of the same moment with it, on ${database.name}`, async () => {
      const start = numberOf(await api.request("GET", "/bot_users"));
      await api.ok("POST", "/bot_users", { name: "too much" });
      const headers = { "idempotency-key": "rollback-1" };
      const [first] = await Promise.all([
        rollback(start, headers),
        ...Array.from({ length: 20 }, (_, index) => api.ok("POST", "/bot_users", { name: `meanwhile ${index}` })),
      ]);
      assert.equal(first.status, 200, first.text);
      const { bot_users } = await api.ok("GET", `/bot_users?at_revision=${first.body.revision}`);
      assert.deepEqual(bot_users, (await api.ok("GET", `/bot_users?at_revision=${start}`)).bot_users);
      assert.deepEqual((await rollback(start, headers)).body, first.body);
      assert.equal((await rollback(start - 1, headers)).status, 422);
    });

    async function every(path: string): Promise<Body[]> {
      const all: Body[] = [];
      let next: string | null = path;
      while (next !== null) {
        const page: Body = await api.ok("GET", next);
        all.push(...page.revisions);
        next = page.next_page_uri && page.next_page_uri.slice(api.baseUrl.length);
      }
      return all;
    }
  });
}
