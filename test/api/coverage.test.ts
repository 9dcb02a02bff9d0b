/**
 * Every operation, from the declarations: a success, no credentials, another version, bad bodies, an object that
 * is not there and one of another account. An operation that is added is covered with no line here.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Operation } from "../../src/api/call.ts";
import { modulesOf, resourceNamed } from "../../src/api/declarations.ts";
import { exampleInput } from "../../src/api/examples.ts";
import { describedOperations } from "../../src/api/operations.ts";
import { createAuthority, issueLeaf } from "../../src/lib/x509.ts";
import type { Fields } from "../../src/schema/fields.ts";
import type { ResourceDeclaration } from "../../src/schema/resource.ts";
import { startApi } from "../support/api.ts";
import type { TestApi } from "../support/api.ts";
import { badInputs } from "../support/coverage.ts";
import { databases } from "../support/postgres.ts";

const operations = describedOperations();
const keyed = operations.filter((operation) => !operation.open && operation.resource);

for (const database of databases) {
  describe(`every operation on ${database.name}`, () => {
    let api: TestApi;
    let world: World;
    let foreignKey: string;
    before(async () => {
      api = await startApi(database);
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

function inputOf(operation: Operation): Fields {
  const fields = operation.input as Fields;
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !operation.path.includes(`{${name}}`)));
}

const authority = createAuthority({ commonName: "Test CA", now: Date.now() });

interface World {
  /** A call that succeeds, on objects made for it. */
  callFor(operation: Operation): Promise<{ path: string; body: Record<string, unknown> | undefined }>;
  /** What reading shows of the object, or of the collection. */
  state(operation: Operation, path: string): Promise<unknown>;
  /** The id of an object of `kind` in the account of `key`. */
  foreign(kind: string, key: string): Promise<string>;
}

function makeWorld(api: TestApi): World {
  let count = 0;

  /** An input with a name of its own, and objects for what it refers to. */
  const input = async (kind: string, fields: Fields, direction: "create" | "update", key = api.apiKey) => {
    const ids = new Map<string, string>();
    for (const field of Object.values(fields)) {
      const to = field.type === "map" ? field.keysTo : "to" in field ? field.to : undefined;
      const target = to?.[0];
      if (target === undefined || !field.required || (direction === "update" && field.immutable)) continue;
      ids.set(target, (await make(target, key)).id);
    }
    const body = exampleInput(fields, direction, (kind) => ids.get(kind) ?? "");
    if ("ca_pem" in body) body["ca_pem"] = (await authority).certificatePem;
    if ("private_key_pem" in body) {
      const leaf = await issueLeaf(await authority, { names: ["a.example.com"], days: 30, now: Date.now() });
      Object.assign(body, { certificate_pem: leaf.certificatePem, private_key_pem: leaf.keyPem });
    }
    return distinct(kind, body);
  };
  const distinct = (kind: string, body: Record<string, unknown>): Record<string, unknown> => {
    count += 1;
    for (const name of resourceNamed(kind).claims ? ["name", "domain", "match"] : []) {
      if (typeof body[name] !== "string") continue;
      body[name] = name === "domain" ? `n${count}.example.com` : name === "match" ? `/n${count}` : `name ${count}`;
    }
    return body;
  };
  const make = async (kind: string, key = api.apiKey): Promise<{ id: string; path: string }> => {
    const resource = resourceNamed(kind);
    if (resource.live) return makeLive(kind);
    let path = resource.path;
    if (resource.ownedBy && path.includes("{")) {
      path = path.replace(/\{\w+\}/, (await make(resource.ownedBy.kind, key)).id);
    }
    const fields = Object.fromEntries(
      Object.entries(resource.fields).filter(([name]) => !resource.path.includes(`{${name}}`)),
    );
    if (resource.fields["type"]?.type === "oneOf" && resource.claims) await clear(resource, key);
    const { id } = await api.ok("POST", path, await input(kind, fields, "create", key), key);
    return { id, path: `${path}/${id}` };
  };
  /** Makes room for another of those that there can be one of per type. */
  const clear = async ({ path, listKey }: ResourceDeclaration, key: string): Promise<void> => {
    for (const { id } of (await api.ok("GET", path, undefined, key))[listKey]) {
      await api.ok("DELETE", `${path}/${id}`, undefined, key);
    }
  };
  const makeLive = async (kind: string): Promise<{ id: string; path: string }> => {
    const { keys } = await api.ok("GET", "/api_keys");
    const accounts = await api.ok("GET", "/accounts");
    assert.ok(keys.length > 0);
    const accountId = accounts.accounts.at(-1).id as string;
    count += 1;
    const tail = count.toString(36).padStart(27, "0");
    const startedAt = "2026-01-01T00:00:00Z";
    const shared = { accountId, credentialId: "cr_x", metadata: "", region: "local", startedAt };
    const session = {
      ...shared,
      id: `ts_${tail}`,
      agentVersion: "1",
      ip: "192.0.2.1",
      os: "linux",
      transport: "ngrok/2",
    };
    api.edge.send({ type: "session_opened", session });
    const endpoint = { id: `ep_${tail}`, proto: "https", publicUrl: `https://t${count}.postern.test` } as const;
    const tunnel = { ...shared, id: `tn_${tail}`, sessionId: session.id, forwardsTo: "localhost:80", endpoint };
    api.edge.send({ type: "tunnel_opened", tunnel });
    const id = { tunnel_session: session.id, tunnel: tunnel.id, endpoint: endpoint.id }[kind] as string;
    return { id, path: `${resourceNamed(kind).path}/${id}` };
  };
  return {
    async callFor(operation) {
      const resource = operation.resource as NonNullable<Operation["resource"]>;
      const isOne = operation.path.includes("{id}");
      let path = operation.path;
      if (isOne) {
        const made = await make(resource.name);
        const suffix = operation.path.slice(operation.path.indexOf("{id}") + 4);
        const start = resource.path.includes("{") ? made.path : operation.path.replace(/\{id\}.*/, made.id);
        path = start + suffix;
        if (operation.block && operation.method !== "PUT") await fill(resource.name, operation.block, start);
      } else if (path.includes("{")) {
        path = path.replace(/\{\w+\}/, (await make(resource.ownedBy?.kind as string)).id);
      }
      if (operation.takes !== "object") return { path, body: undefined };
      const direction = operation.verb === "update" ? "update" : "create";
      if (operation.verb === "create" && resource.fields["type"]) await clear(resource, api.apiKey);
      return { path, body: await input(resource.name, inputOf(operation), direction) };
    },
    async state(operation, path) {
      if (operation.verb === "create") {
        if (operation.path.includes("{")) return api.ok("GET", path.replace(/\/\w+$/, ""));
        return (await api.ok("GET", `${path}?limit=1`))[operation.resource?.listKey as string]?.[0]?.id;
      }
      return api.ok("GET", path);
    },
    foreign: async (kind, key) => (await make(kind, key)).id,
  };

  async function fill(kind: string, block: string, path: string): Promise<void> {
    const field = modulesOf(resourceNamed(kind)).find(([module]) => module.name === block)?.[1];
    await api.ok("PUT", `${path}/${block}`, await input(kind, field?.fields as Fields, "create"));
  }
}
