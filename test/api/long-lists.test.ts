/** Lists over very many objects: other requests continue, and each key has a limited number of such lists. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { ipPolicy } from "../../src/resources/ip-policy.ts";
import type { Store } from "../../src/storage/store.ts";
import { startApi } from "../support/api.ts";
import type { Body, TestApi } from "../support/api.ts";
import { databases } from "../support/postgres.ts";

const many = 20_000;

async function seed(store: Store): Promise<void> {
  const [account] = [...store.objects(new Set(["account"]))];
  const accountId = account?.id as string;
  const principal = { accountId, id: "system" };
  for (let from = 0; from < many; from += 5000) {
    await store.write({ principal, operation: "seed", operationId: "op_seed" }, (draft) => {
      for (let at = from; at < from + 5000; at += 1) {
        const doc = { description: `policy ${at}`, metadata: at === 0 ? "team: a" : "" };
        draft.create(accountId, ipPolicy.name, doc);
      }
    });
  }
}

for (const database of databases) {
  describe(`long lists on ${database.name}`, () => {
    let api: TestApi;
    let limited: string;
    before(async () => {
      api = await startApi(database, { seed });
      limited = (await api.ok("POST", "/api_keys", { scopes: ["read", "metadata:team: a"] })).token;
    });
    after(() => api.stop());

    it(`D9: long lists on ${database.name} do not block other requests`, async () => {
      const ended: string[] = [];
      const long = api.ok("GET", "/ip_policies", undefined, limited).then(({ ip_policies: found }: Body) => {
        ended.push("long");
        assert.deepEqual(
          found.map(({ description }: Body) => description),
          ["policy 0"],
        );
      });
      for (let count = 0; count < 3; count += 1) {
        await api.ok("GET", "/reserved_domains");
        ended.push("short");
      }
      await long;
      assert.deepEqual(ended, ["short", "short", "short", "long"]);
    });

    it(`D9: long lists on ${database.name} are narrowed and filtered in steps as well`, async () => {
      for (const query of ["filter=false", "filter=obj.metadata%20%3D%3D%20%27team:%20a%27"]) {
        const found = await api.ok("GET", `/ip_policies?${query}`, undefined, limited);
        assert.equal(found.ip_policies.length, query === "filter=false" ? 0 : 1);
        assert.equal(found.next_page_uri, null);
      }
    });

    it(`D9: long lists on ${database.name} are bounded for each key, and short ones of the key are not`, async () => {
      const ask = (path: string) => api.request("GET", path, { key: limited });
      const asked = await Promise.all(Array.from({ length: 12 }, () => ask("/ip_policies")));
      const refused = asked.filter(({ status }) => status !== 200);
      assert.ok(refused.length >= 1 && refused.length <= 4, `${refused.length} were refused`);
      for (const { status, body } of refused) {
        assert.deepEqual([status, body.error_code], [429, errorCode("work_limit")]);
      }
      const short = await Promise.all(
        [...Array(8).fill("/ip_policies"), ...Array(12).fill("/reserved_domains")].map(ask),
      );
      assert.ok(short.every(({ status }) => status === 200));
    });
  });
}
