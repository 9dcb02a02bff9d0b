/** The first API key and agent token are created once per database, and stay deleted when they are deleted. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { newToken, tokenPrefixes } from "../../src/lib/tokens.ts";
import { firstToken } from "../../src/resources/first-token.ts";
import { startApi } from "../support/api.ts";
import type { TestApi } from "../support/api.ts";
import { databases } from "../support/postgres.ts";

/** Deletes what the first start created. Returns another key. */
async function revoke(api: TestApi): Promise<string> {
  const { token } = await api.ok("POST", "/api_keys", { description: "another" });
  const { keys } = await api.ok("GET", "/api_keys", undefined, token);
  const { credentials } = await api.ok("GET", "/credentials", undefined, token);
  const first = keys.find(({ description }: { description: string }) => description === "First API key");
  await api.ok("DELETE", `/api_keys/${first.id}`, undefined, token);
  for (const { id } of credentials) await api.ok("DELETE", `/credentials/${id}`, undefined, token);
  return token;
}

async function statusOf(api: TestApi, key: string): Promise<number> {
  return (await api.request("GET", "/api_keys", { key })).status;
}

async function agentTokens(api: TestApi, key: string): Promise<number> {
  return (await api.ok("GET", "/credentials", undefined, key)).credentials.length;
}

for (const database of databases) {
  describe(`first tokens on ${database.name}`, () => {
    it(`P8: first tokens on ${database.name} that were deleted are not created again by the next start`, async () => {
      const place = await database.create();
      const first = await startApi(database, { databaseUrl: place.url });
      const bootstrap = { apiKey: first.apiKey, authtoken: first.authtoken };
      const token = await revoke(first);
      await first.stop();
      for (let start = 0; start < 2; start += 1) {
        const again = await startApi(database, { databaseUrl: place.url, bootstrap });
        assert.deepEqual([await statusOf(again, bootstrap.apiKey), await statusOf(again, token)], [401, 200]);
        assert.equal(await agentTokens(again, token), 0);
        await again.stop();
      }
      const other = { apiKey: newToken(tokenPrefixes.apiKey), authtoken: newToken(tokenPrefixes.agent) };
      const renewed = await startApi(database, { databaseUrl: place.url, bootstrap: other });
      assert.equal(await statusOf(renewed, other.apiKey), 200);
      assert.equal(await agentTokens(renewed, other.apiKey), 1);
      await renewed.stop();
      await place.drop();
    });

    it(`P8: first tokens on ${database.name} stay deleted in a database of a version that did not note them`, async () => {
      const place = await database.create();
      const first = await startApi(database, { databaseUrl: place.url });
      const bootstrap = { apiKey: first.apiKey, authtoken: first.authtoken };
      const token = await revoke(first);
      await first.stop();
      const again = await startApi(database, {
        databaseUrl: place.url,
        bootstrap,
        async seed(store) {
          const noted = [...store.objects(new Set([firstToken.name]))];
          assert.equal(noted.length, 2);
          const principal = { accountId: noted[0]?.account_id as string, id: "system" };
          await store.write({ principal, operation: "seed", operationId: "op_seed" }, (draft) => {
            for (const one of noted) draft.delete(one);
          });
        },
      });
      assert.deepEqual([await statusOf(again, bootstrap.apiKey), await statusOf(again, token)], [401, 200]);
      assert.equal(await agentTokens(again, token), 0);
      await again.stop();
      await place.drop();
    });
  });
}

const postgres = databases.find(({ name }) => name === "postgres");

describe("first tokens of several nodes", { skip: !postgres }, () => {
  it("P8: first tokens that were deleted at one node are not created again by another that starts with them", async () => {
    if (!postgres) return;
    const one = await startApi(postgres, { cluster: true });
    const { databaseUrl, apiKey, authtoken } = one;
    const token = await revoke(one);
    const other = await startApi(postgres, { cluster: true, databaseUrl, bootstrap: { apiKey, authtoken } });
    for (const node of [one, other]) {
      assert.deepEqual([await statusOf(node, apiKey), await statusOf(node, token)], [401, 200]);
      assert.equal(await agentTokens(node, token), 0);
    }
    await other.stop();
    await one.stop();
  });
});
