/**
 * Every operation, from the declarations: a success, an object that is not there and one of another account, on every
 * database; no credentials, another version, bad bodies and parameters. An operation that is added is covered with no
 * line here.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { describedOperations } from "../../src/api/operations.ts";
import type { Operation } from "../../src/api/operation/call.ts";
import { errorCode } from "../../src/lib/errors.ts";
import { startApi } from "../support/api.ts";
import type { TestApi } from "../support/api.ts";
import { badInputs, referringInputs } from "../support/coverage.ts";
import { edgeAnswers, otherCalls } from "../support/other-calls.ts";
import { databases } from "../support/postgres.ts";
import { inputOf, makeWorld, seedWorld } from "../support/world.ts";
import type { World } from "../support/world.ts";

const keyed = describedOperations().filter((operation) => !operation.open);
const unknownTail = "0".repeat(27);

interface MadeCall {
  readonly path: string;
  readonly body?: Record<string, unknown> | undefined;
  readonly status?: number;
  readonly names?: boolean;
}

for (const database of databases) {
  describe(`every operation on ${database.name}`, () => {
    let api: TestApi;
    let world: World;
    let foreignKey: string;
    let others: ReturnType<typeof otherCalls>;
    before(async () => {
      api = await startApi(database, { seed: seedWorld });
      world = makeWorld(api);
      others = otherCalls(api, world);
      foreignKey = (await api.ok("POST", "/accounts", { name: "another" })).api_key;
      const own = (await api.ok("GET", "/accounts")).accounts.at(-1).id;
      api.edge.answer = edgeAnswers(() => own);
      api.edge.send({ type: "hello", edgeId: "edge" });
    });
    after(() => api.stop());

    const callFor = async (operation: Operation): Promise<MadeCall> => {
      if (!operation.resource) return (others[operation.id] as (typeof others)[string])();
      return { names: operation.path.includes("{"), ...(await world.callFor(operation)) };
    };

    for (const operation of keyed) {
      const { id, method, query = [] } = operation;
      const direction = operation.verb === "update" ? "update" : "create";

      it(`every operation on ${database.name}: ${id} succeeds`, async () => {
        const { path, body, status = operation.status } = await callFor(operation);
        const response = await api.request(method, path, { ...(body && { body }) });
        assert.equal(response.status, status, response.text);
        const { produces = "application/json" } = operation;
        assert.equal(response.headers["content-type"] ?? "", status === 204 ? "" : produces);
        const isWrite = method !== "GET" && operation.verb !== "command" && !operation.reads && status < 300;
        if (isWrite) assert.match(response.headers["postern-revision"] ?? "", /^[0-9]+$/);
        assert.match(response.headers["ratelimit-remaining"] ?? "", /^[0-9]+$/);
        if ("created_at" in response.body) assert.match(response.body.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
      });

      if (query.includes("dry_run")) {
        it(`every operation on ${database.name}: ${id} that is only tried is answered as it would be, and changes nothing`, async () => {
          const { path, body } = await callFor(operation);
          const before = (await api.request("GET", "/ip_policies?limit=1")).headers["postern-revision"];
          const response = await api.request(method, `${path}?dry_run=true`, { ...(body && { body }) });
          assert.equal(response.status, operation.status, response.text);
          // Commands change no object, so their responses have no revision.
          if (operation.verb !== "command") assert.equal(response.headers["postern-revision"], before);
          const after = (await api.request("GET", "/ip_policies?limit=1")).headers["postern-revision"];
          assert.equal(after, before);
          const wrong = await api.request(method, `${path}?dry_run=perhaps`, { ...(body && { body }) });
          assert.deepEqual([wrong.status, wrong.body.error_code], [400, errorCode("query_invalid")]);
        });
      }

      if (operation.path.includes("{")) {
        it(`P1: every operation on ${database.name}: ${id} finds nothing that does not exist or belongs to another account`, async () => {
          const { path, body, names } = await callFor(operation);
          const foreign = await api.request(method, path, { ...(body && { body }), key: foreignKey });
          if (names) assert.equal(foreign.status, operation.resource?.operatorOnly ? 403 : 404, foreign.text);
          const absent = path
            .replace(/_[0-9a-z]{27}/, `_${unknownTail}`)
            .replace(/^\/revisions\/\d+/, "/revisions/999999");
          const response = await api.request(method, absent.replace(/\/(req|con)_1\b/, "/$1_2"), {
            ...(body && { body }),
          });
          if (absent === path && names)
            return assert.match(id, /^(?:get(?:Request|Connection)|getRequestExchange|replayRequest)$/);
          const number = absent.startsWith("/revisions/") ? 242 : 222;
          assert.deepEqual([response.status, response.body.error_code], [404, `ERR_POSTERN_${number}`], response.text);
          const own = path.match(/_([0-9a-z]{27})/)?.[1];
          if (foreign.status === 404 && own) {
            assert.equal(foreign.body.msg, response.body.msg.replace(unknownTail, own));
          }
          const keep = method === "DELETE" ? await api.request("GET", path) : undefined;
          if (keep) assert.notEqual(keep.status, 404, "what another account has tried to delete is still there");
        });
      }

      // The rest is refused before any database is asked, so once is enough.
      if (database !== databases[0]) continue;

      it(`every operation on ${database.name}: ${id} refuses a caller without credentials, or with another version or none`, async () => {
        const path = operation.path.replaceAll(/\{\w+\}/g, "x");
        const none = await api.request(method, path, { headers: { authorization: undefined } });
        assert.deepEqual([none.status, none.body.error_code], [401, errorCode("missing_credentials")]);
        for (const [version, code] of [
          ["1", errorCode("version_unsupported")] as const,
          [undefined, errorCode("version_missing")] as const,
        ]) {
          const response = await api.request(method, path, { headers: { "service-version": version } });
          assert.deepEqual([response.status, response.body.error_code], [400, code]);
        }
      });

      it(`P2: every operation on ${database.name}: ${id} refuses query parameters that it does not know or that are wrong`, async () => {
        const { path } = await callFor(operation);
        const wrong: [string, number][] = [["no_such_parameter=1", 231]];
        if (query.includes("limit")) {
          for (const limit of ["0", "101", "-1", "1.5", "1e1", "x", "", "9".repeat(400)]) {
            wrong.push([`limit=${limit}`, 233]);
          }
          wrong.push(["limit=1&limit=1", 230]);
        }
        if (query.includes("before_id")) {
          wrong.push(
            ["before_id=%00", 230],
            ["before_id=", 230],
            ["before_id=../x", 230],
            ["before_id=1&before_id=1", 230],
          );
        }
        if (query.includes("filter")) {
          for (const filter of ["", "obj", "obj.no_such_field == 'x'", "obj.id == 1", "obj.id ==", "(".repeat(999)]) {
            wrong.push([`filter=${encodeURIComponent(filter)}`, 234]);
          }
          wrong.push(["filter=true&filter=true", 230]);
        }
        if (query.includes("at_revision")) {
          wrong.push(
            ["at_revision=x", 230],
            ["at_revision=-1", 230],
            ["at_revision=", 230],
            ["at_revision=999999999", 242],
          );
          wrong.push(["at_revision=1&at_revision=1", 230]);
        }
        if (!query.includes("limit")) wrong.push(["limit=1", 231]);
        for (const [text, number] of wrong) {
          const response = await api.request(method, `${path}?${text}`);
          assert.equal(response.body.error_code, `ERR_POSTERN_${number}`, `${text}: ${response.text}`);
        }
      });

      if (operation.takes === "nothing") {
        it(`P2: every operation on ${database.name}: ${id} refuses a body, and does nothing`, async () => {
          const { path } = await callFor(operation);
          const response = await api.request(method, path, { body: { a: 1 } });
          assert.deepEqual([response.status, response.body.error_code], [400, errorCode("body_unexpected")]);
          if (method === "DELETE" && operation.verb === "delete") {
            assert.equal((await api.request("DELETE", path)).status, others[id] ? 409 : 204);
          }
        });
      }

      if (operation.takes === "object" || operation.takes === "document") {
        it(`P2: every operation on ${database.name}: ${id} refuses a body that is not a JSON object, and other content types`, async () => {
          const { path, body } = await callFor(operation);
          const headers = { "content-type": "application/json" };
          const deep = `{"a":${"[".repeat(32)}${"]".repeat(32)}}`;
          const texts = ["{", "[]", "null", '"x"', '{"a":1,"a":1}', '{"a":{"b":1,"b":1}}', '{"__proto__":{}}', deep];
          for (const text of texts) {
            const response = await api.request(method, path, { body: text, headers });
            assert.deepEqual([response.status, response.body.error_code], [400, errorCode("body_unreadable")], text);
          }
          const typed = await api.request(method, path, { body, headers: { "content-type": "text/plain" } });
          assert.deepEqual([typed.status, typed.body.error_code], [415, errorCode("content_type")]);
          const unknown = await api.request(method, path, { body: { ...body, constructor: {} } });
          assert.deepEqual([unknown.status, unknown.body.error_code], [400, errorCode("unknown_field")], unknown.text);
        });
      }

      if (operation.takes === "object") {
        it(`P2: every operation on ${database.name}: ${id} refuses every field that is wrong, and changes nothing`, async () => {
          const { path, body = {} } = await callFor(operation);
          const readable = operation.resource && operation.verb !== "replace" && !operation.reads;
          const before = readable && (await world.state(operation, path));
          for (const bad of badInputs(inputOf(operation), direction, body)) {
            const response = await api.request(method, path, { body: bad.body });
            assert.equal(response.status, 400, `${bad.what}: ${response.text}`);
            assert.ok(bad.path in response.body.details, `${bad.what}: details of ${bad.path}: ${response.text}`);
          }
          if (before) assert.deepEqual(await world.state(operation, path), before);
        });

        it(`P1: every operation on ${database.name}: ${id} accepts no reference to another account's object, in any field`, async () => {
          const fields = inputOf(operation);
          const { path, body = {} } = await callFor(operation);
          const kinds = new Set(referringInputs(fields, direction, body, () => "").map(({ kind }) => kind));
          const foreign = new Map<string, string>();
          for (const kind of kinds) foreign.set(kind, await world.foreign(kind, foreignKey));
          const ask = async (idOf: (kind: string) => string) => {
            const answers = [];
            for (const { what, body: referring } of referringInputs(fields, direction, body, idOf)) {
              const { status, body } = await api.request(method, path, { body: referring });
              assert.deepEqual(
                [what, status, body.error_code],
                [what, 404, errorCode("reference_unknown")],
                JSON.stringify(body),
              );
              answers.push(JSON.stringify([body.msg, { ...body.details, operation_id: "" }]));
            }
            return answers;
          };
          const told = await ask((kind) => foreign.get(kind) as string);
          const ofNone = await ask((kind) => (foreign.get(kind) as string).replace(/_.*/, `_${unknownTail}`));
          const ids = new RegExp([...foreign.values()].map((one) => one.slice(-27)).join("|") || "^$", "g");
          assert.deepEqual(
            told.map((text) => text.replaceAll(ids, unknownTail)),
            ofNone,
          );
        });
      }
    }

    it(`P1: no list on ${database.name} shows another account's objects, filtered or not`, async () => {
      for (const operation of keyed) {
        if (operation.verb !== "list" || operation.resource?.operatorOnly) continue;
        const { path, listKey } = operation as { path: string; listKey: string };
        const mine = await api.ok("GET", path);
        const ids = new Set(mine[listKey].map((one: { id: string }) => one.id));
        for (const query of ["", `?filter=${encodeURIComponent("obj.id != ''")}`]) {
          const list = await api.ok("GET", path + query, undefined, foreignKey);
          for (const one of list[listKey]) assert.ok(!ids.has(one.id), operation.id);
        }
      }
    });
  });
}
