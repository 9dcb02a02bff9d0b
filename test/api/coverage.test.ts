/**
 * Every operation, from the declarations: a success, no credentials, another version, bad bodies, an object that
 * is not there and one of another account. An operation that is added is covered with no line here.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { describedOperations } from "../../src/api/operations.ts";
import { startApi } from "../support/api.ts";
import type { TestApi } from "../support/api.ts";
import { badInputs } from "../support/coverage.ts";
import { databases } from "../support/postgres.ts";
import { inputOf, makeWorld, seedWorld } from "../support/world.ts";
import type { World } from "../support/world.ts";

const operations = describedOperations();
const keyed = operations.filter((operation) => !operation.open && operation.resource);

for (const database of databases) {
  describe(`every operation on ${database.name}`, () => {
    let api: TestApi;
    let world: World;
    let foreignKey: string;
    before(async () => {
      api = await startApi(database, { seed: seedWorld });
      world = makeWorld(api);
      foreignKey = (await api.ok("POST", "/accounts", { name: "another" })).api_key;
      api.edge.answer = (message) =>
        message.type === "command" ? { type: "command_result", call: message.call } : undefined;
    });
    after(() => api.stop());

    for (const operation of keyed) {
      const { id, method, status } = operation;
      it(`${id} succeeds`, async () => {
        const { path, body } = await world.callFor(operation);
        const response = await api.request(method, path, { ...(body && { body }) });
        assert.equal(response.status, status, response.text);
        assert.equal(response.headers["content-type"] ?? "", status === 204 ? "" : "application/json");
      });

      it(`${id} refuses a caller without credentials, and one with another version`, async () => {
        const path = operation.path.replaceAll(/\{\w+\}/g, "x");
        const none = await api.request(method, path, { headers: { authorization: undefined } });
        assert.deepEqual([none.status, none.body.error_code], [401, "ERR_POSTERN_200"]);
        const version = await api.request(method, path, { headers: { "service-version": "1" } });
        assert.deepEqual([version.status, version.body.error_code], [400, "ERR_POSTERN_217"]);
      });

      if (operation.path.includes("{")) {
        it(`P1: ${id} finds nothing that does not exist or belongs to another account`, async () => {
          const { path, body } = await world.callFor(operation);
          const foreign = await api.request(method, path, { ...(body && { body }), key: foreignKey });
          assert.equal(foreign.status, operation.resource?.operatorOnly ? 403 : 404, foreign.text);
          const absent = path.replace(/_[0-9a-z]{27}/, `_${"0".repeat(27)}`);
          const response = await api.request(method, absent, { ...(body && { body }) });
          assert.deepEqual([response.status, response.body.error_code], [404, "ERR_POSTERN_222"], response.text);
          assert.equal(
            foreign.body.msg,
            foreign.status === 403
              ? foreign.body.msg
              : response.body.msg.replace("0".repeat(27), path.match(/_([0-9a-z]{27})/)?.[1] ?? ""),
          );
        });
      }

      if (operation.takes === "object") {
        it(`P2: ${id} refuses bad bodies and changes nothing`, async () => {
          const { path, body } = await world.callFor(operation);
          const direction = operation.verb === "update" ? "update" : "create";
          const fields = inputOf(operation);
          const before = operation.verb === "replace" ? undefined : await world.state(operation, path);
          for (const bad of badInputs(fields, direction, body ?? {})) {
            const response = await api.request(method, path, { body: bad.body });
            assert.equal(response.status, 400, `${bad.what}: ${response.text}`);
            assert.ok(bad.path in response.body.details, `${bad.what}: details of ${bad.path}: ${response.text}`);
          }
          const headers = { "content-type": "application/json" };
          for (const text of ["{", "[]", "null", '{"a":1,"a":1}', '{"__proto__":{}}']) {
            const response = await api.request(method, path, { body: text, headers });
            assert.deepEqual([response.status, response.body.error_code], [400, "ERR_POSTERN_213"], text);
          }
          if (before !== undefined) assert.deepEqual(await world.state(operation, path), before);
        });
      }
    }

    it("P1: no list shows what belongs to another account", async () => {
      for (const operation of keyed) {
        if (operation.verb !== "list" || operation.resource?.operatorOnly) continue;
        const list = await api.ok("GET", operation.path, undefined, foreignKey);
        const mine = await api.ok("GET", operation.path);
        const ids = new Set(mine[operation.listKey as string].map((one: { id: string }) => one.id));
        for (const one of list[operation.listKey as string]) assert.ok(!ids.has(one.id), operation.id);
      }
    });

    it("P1: no field takes a reference to an object of another account", async () => {
      for (const operation of keyed) {
        if (operation.verb !== "create" && operation.verb !== "replace") continue;
        for (const [name, field] of Object.entries(inputOf(operation))) {
          if ((field.type !== "ref" && field.type !== "refList") || field.live) continue;
          const { path, body } = await world.callFor(operation);
          const foreign = await world.foreign(field.to[0] as string, foreignKey);
          const value = field.type === "ref" ? foreign : [foreign];
          const response = await api.request(operation.method, path, { body: { ...body, [field.input]: value } });
          assert.equal(response.status, 400, `${operation.id} ${name}: ${response.text}`);
          assert.equal(response.body.error_code, "ERR_POSTERN_7007");
        }
      }
    });
  });
}
