/** D9: limits of what an account may store, as API clients see them. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { startApi } from "../support/api.ts";
import type { ApiResponse, Body, TestApi } from "../support/api.ts";
import { databases } from "../support/postgres.ts";

const quotas = { accountMaxObjects: 4, ownerMaxObjects: 2, accountMaxBytes: 20_000 };

for (const database of databases) {
  describe(`D9: quotas of stored things on ${database.name}`, () => {
    let place: Awaited<ReturnType<typeof database.create>>;
    let api: TestApi;
    before(async () => {
      place = await database.create();
      api = await startApi(database, { databaseUrl: place.url, ...quotas });
    });
    after(async () => {
      await api.plane.stop();
      await place.drop();
    });
    const restart = async (more: Partial<typeof quotas> = {}): Promise<void> => {
      const bootstrap = { apiKey: api.apiKey, authtoken: api.authtoken };
      await api.plane.stop();
      api = await startApi(database, { databaseUrl: place.url, bootstrap, ...quotas, ...more });
    };

    let count = 0;
    const account = async (): Promise<string> => {
      count += 1;
      return (await api.ok("POST", "/accounts", { name: `account ${count}` })).api_key;
    };
    const create = (key: string, name: string) => api.request("POST", "/bot_users", { key, body: { name } });
    const names = async (key: string): Promise<string[]> =>
      (await api.ok("GET", "/bot_users", undefined, key)).bot_users.map(({ name }: Body) => name).sort();
    const revisionOf = async (key: string): Promise<number> =>
      Number((await api.request("GET", "/bot_users", { key })).headers["postern-revision"]);
    const isFull = ({ status, body, headers, text }: ApiResponse, present: number, wanted: number): void => {
      assert.deepEqual([status, body.error_code], [403, errorCode("too_many_objects")], text);
      // Waiting does not help, so there is no Retry-After.
      assert.equal(headers["retry-after"], undefined);
      assert.equal(body.details.setting, "--account-max-objects");
      assert.deepEqual([body.details.present, body.details.limit], [String(present), "4"]);
      assert.match(body.msg, new RegExp(`has ${present} of bot_user, would have ${wanted}, and may have 4`));
    };

    it(`D9: quotas of stored objects on ${database.name} refuse what exceeds them, for this account only, until something is deleted`, async () => {
      const [key, foreign] = [await account(), api.apiKey];
      for (const name of ["a", "b", "c", "d"]) assert.equal((await create(key, name)).status, 201);
      const before = await revisionOf(key);
      isFull(await create(key, "e"), 4, 5);
      assert.equal(await revisionOf(key), before);
      assert.equal((await create(foreign, "e")).status, 201);
      const { bot_users } = await api.ok("GET", "/bot_users", undefined, key);
      await api.ok("PATCH", `/bot_users/${bot_users[0].id}`, { name: "renamed", active: false }, key);
      await api.ok("DELETE", `/bot_users/${bot_users[0].id}`, undefined, key);
      assert.equal((await create(key, "e")).status, 201);
      assert.deepEqual(await names(key), ["a", "b", "c", "e"]);
    });

    it(`D9: quotas of stored objects on ${database.name} apply to documents as a whole; plan and apply agree, and nothing is stored`, async () => {
      const key = await account();
      await create(key, "by hand");
      const document = (...all: readonly string[]) => ({
        prune: true,
        objects: { bot_user: Object.fromEntries(all.map((name) => [name, { name }])) },
      });
      const before = await revisionOf(key);
      for (const path of ["/plan", "/apply"]) {
        isFull(await api.request("POST", path, { key, body: document("a", "b", "c", "d") }), 1, 5);
      }
      assert.equal(await revisionOf(key), before);
      assert.deepEqual(await names(key), ["by hand"]);
      await api.ok("POST", "/apply", document("a", "b", "c"), key);
      // Pruned objects make room in the same step.
      await api.ok("POST", "/apply", document("d", "e", "f"), key);
      assert.deepEqual(await names(key), ["by hand", "d", "e", "f"]);
    });

    it(`D9: quotas of stored things on ${database.name} hold for rollbacks`, async () => {
      const key = await account();
      for (const name of ["a", "b", "c"]) await create(key, name);
      const full = await revisionOf(key);
      const { bot_users } = await api.ok("GET", "/bot_users", undefined, key);
      for (const { id } of bot_users) await api.ok("DELETE", `/bot_users/${id}`, undefined, key);
      await api.ok("POST", `/revisions/${full}/rollback`, undefined, key);
      assert.deepEqual(await names(key), ["a", "b", "c"]);
      isFull(await create(key, "d").then(() => create(key, "e")), 4, 5);

      await restart({ accountMaxObjects: 2 });
      assert.deepEqual(await names(key), ["a", "b", "c", "d"]);
      for (const { id } of (await api.ok("GET", "/bot_users", undefined, key)).bot_users) {
        await api.ok("DELETE", `/bot_users/${id}`, undefined, key);
      }
      for (const query of ["?dry_run=true", ""]) {
        const refused = await api.request("POST", `/revisions/${full}/rollback${query}`, { key });
        assert.deepEqual([refused.status, refused.body.error_code], [403, errorCode("too_many_objects")], refused.text);
      }
      assert.deepEqual(await names(key), []);
      await restart();
    });

    it(`D9: quotas of stored things on ${database.name} hold for the routes of an edge and the rules of a policy`, async () => {
      const edge = await api.ok("POST", "/edges/https", { hostports: ["owner.example.com:443"] });
      const policy = await api.ok("POST", "/ip_policies", {});
      const route = (match: string) =>
        api.request("POST", `/edges/https/${edge.id}/routes`, { body: { match_type: "path_prefix", match } });
      const rule = (cidr: string) =>
        api.request("POST", "/ip_policy_rules", { body: { ip_policy_id: policy.id, cidr, action: "allow" } });
      for (const [make, texts] of [
        [route, ["/a", "/b", "/c"]],
        [rule, ["10.0.0.0/8", "11.0.0.0/8", "12.0.0.0/8"]],
      ] as const) {
        const [first, second, third] = [await make(texts[0]), await make(texts[1]), await make(texts[2])];
        assert.deepEqual([first.status, second.status, third.status], [201, 201, 403], third.text);
        assert.deepEqual(
          [third.body.error_code, third.body.details.setting],
          [errorCode("too_many_objects"), "--owner-max-objects"],
        );
      }
    });

    it(`D9: D9: quotas of stored things on ${database.name} are counted anew at the start, give way to deletes and let what shrinks pass`, async () => {
      await restart({ accountMaxObjects: 100 });
      const key = await account();
      const response = { status_code: 200, body: "a".repeat(12_000) };
      const kept = await api.ok("POST", "/backends/http_response", response, key);
      const refused = async (method: string, path: string, body: unknown): Promise<Body> => {
        const answer = await api.request(method, path, { key, body });
        assert.deepEqual([answer.status, answer.body.error_code], [403, errorCode("account_full")], answer.text);
        assert.equal(answer.headers["retry-after"], undefined);
        assert.deepEqual([answer.body.details.limit, answer.body.details.setting], ["20000", "--account-max-bytes"]);
        return answer.body.details.present;
      };
      const before = await refused("POST", "/backends/http_response", response);
      assert.ok(Number(before) > 12_000 && Number(before) < 15_000, before);
      await restart();
      assert.equal(await refused("POST", "/backends/http_response", response), before);

      await refused("PATCH", `/backends/http_response/${kept.id}`, { body: "b".repeat(25_000) });
      await api.ok("PATCH", `/backends/http_response/${kept.id}`, { body: "b".repeat(14_000) }, key);
      await refused("POST", "/apply", { objects: { http_response_backend: { page: response } } });
      await restart({ accountMaxBytes: 5000 });
      await api.ok("PATCH", `/backends/http_response/${kept.id}`, { body: "c".repeat(13_000) }, key);
      await api.ok("DELETE", `/backends/http_response/${kept.id}`, undefined, key);
      await restart();
      await api.ok("POST", "/backends/http_response", response, key);
    });
  });
}
