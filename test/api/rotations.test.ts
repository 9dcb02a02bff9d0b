/** Rotation of API keys and agent tokens. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { startApi } from "../support/api.ts";
import type { TestApi } from "../support/api.ts";
import { movableClock } from "../support/clock.ts";
import { databases } from "../support/postgres.ts";

const dayMs = 24 * 60 * 60_000;

for (const database of databases) {
  describe(`rotation on ${database.name}`, () => {
    const clock = movableClock();
    let api: TestApi;
    before(async () => {
      api = await startApi(database, { clock });
    });
    after(() => api.stop());
    const works = async (key: string): Promise<boolean> =>
      (await api.request("GET", "/ip_policies", { key })).status === 200;
    const secondsIn = (ms: number): number => Math.floor((clock.now() + ms) / 1000) * 1000;

    it(`K5: rotation on ${database.name} of an API key keeps its rights, and lets both keys work for a day`, async () => {
      const old = await api.ok("POST", "/api_keys", { description: "deploy", metadata: "m", scopes: ["read"] });
      const earliest = secondsIn(dayMs);
      const made = await api.ok("POST", `/api_keys/${old.id}/rotate`);
      assert.notEqual(made.id, old.id);
      assert.deepEqual(
        [made.description, made.metadata, made.scopes, made.expires_at],
        ["deploy", "m", ["read"], null],
      );
      assert.deepEqual([await works(old.token), await works(made.token)], [true, true]);
      const ends = Date.parse((await api.ok("GET", `/api_keys/${old.id}`)).expires_at);
      assert.ok(ends >= earliest && ends <= secondsIn(dayMs), String(ends));
      assert.equal((await api.ok("GET", `/api_keys/${made.id}`)).token, null);
      clock.move(dayMs);
      assert.deepEqual([await works(old.token), await works(made.token)], [false, true]);
    });

    it(`rotation on ${database.name} of an agent token keeps its ACL, and does not extend an earlier expiry`, async () => {
      const expires_at = new Date(secondsIn(dayMs / 2)).toISOString().replace(".000Z", "Z");
      const old = await api.ok("POST", "/credentials", { acl: ["bind:*.example.com"], expires_at });
      const made = await api.ok("POST", `/credentials/${old.id}/rotate`);
      assert.deepEqual(made.acl, ["bind:*.example.com"]);
      assert.match(made.token, /^postern_at_/);
      assert.equal((await api.ok("GET", `/credentials/${old.id}`)).expires_at, expires_at);
    });

    it(`K5: rotation on ${database.name} gives limited keys no token with more rights than theirs`, async () => {
      const whole = await api.ok("POST", "/api_keys", {});
      const writer = await api.ok("POST", "/api_keys", { scopes: ["write"] });
      const operator = await api.ok("POST", "/api_keys", { operator: true });
      const refusals = [
        [writer.token, whole.id, "scope_missing"],
        [whole.token, operator.id, "operator_only"],
      ] as const;
      for (const [key, id, reason] of refusals) {
        const answer = await api.request("POST", `/api_keys/${id}/rotate`, { key });
        assert.equal(answer.body.error_code, errorCode(reason), answer.text);
      }
      assert.equal((await api.ok("GET", `/api_keys/${whole.id}`)).expires_at, null);
      await api.ok("POST", `/api_keys/${writer.id}/rotate`, undefined, writer.token);
    });
  });
}
