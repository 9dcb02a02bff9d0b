import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { describedOperations } from "../../src/api/operations.ts";
import { errorCode } from "../../src/lib/errors.ts";
import { maxPolicyBytes } from "../../src/policy/policy-document.ts";
import type { Field, Fields } from "../../src/schema/fields.ts";
import { startApi } from "../support/api.ts";
import type { Body, TestApi } from "../support/api.ts";
import { databases } from "../support/postgres.ts";
import { inputOf, makeWorld } from "../support/world.ts";

const naughty = [
  "\u0000",
  "a\u0000b",
  "\ud800",
  "\udfff\ud800",
  "\ufeff",
  "\u202etest\u202c",
  "Ω≈ç√∫˜µ≤≥÷",
  "田中さんにあげて下さい",
  "👩‍👩‍👧‍👦",
  "'; DROP TABLE objects; --",
  "' OR 1=1 --",
  "<script>alert(0)</script>",
  "${7*7}{{7*7}}#{7*7}%s%n%x",
  "../../etc/passwd",
  "constructor",
  "toString",
  "null",
  "1e400",
  "\r\nset-cookie: a=b",
  "\u2028\u2029\u0085",
  " leading and trailing ",
];

/** Whether a field accepts arbitrary text, directly or as the values of a list or map. */
function isFree(field: Field): boolean {
  if (field.internal || field.live || field.readOnly) return false;
  if (field.type === "list" || field.type === "map") return isFree(field.of);
  return field.type === "string" && !field.format && field.maxBytes >= 64;
}

/** Fields whose text has a specific format: certificates, another object's name, topics of one provider. */
const bound = /_pem$|^vault_name$|^sns_topics$/;

function freeText(field: Field, text: string): unknown {
  if (field.type === "list") return [text];
  if (field.type === "map") return { key: text };
  return isPolicy(field) ? policyNamed(text) : text;
}

function isPolicy(field: Field): boolean {
  return field.type === "string" && field.required === true && field.maxBytes === maxPolicyBytes;
}

/** A traffic policy is read when it is given: the text is the name of its rule. */
function policyNamed(name: string): string {
  return JSON.stringify({ inbound: [{ name, actions: [{ type: "close-connection" }] }] });
}

interface FreePlace {
  readonly names: readonly string[];
  /** The expected value in an answer. */
  expected(text: string): string[];
  put(text: string): Record<string, unknown>;
  /** The actual value in an answer. */
  shown(body: Body): unknown[];
}

/** The free texts of a module, and of each object that `good` has in it: set together, as rules may want it. */
function freePlaces(fields: Fields, good: Readonly<Record<string, unknown>>): FreePlace[] {
  const inside = Object.entries(fields).flatMap(([name, field]): FreePlace[] => {
    const inner = good[name] as Readonly<Record<string, unknown>> | undefined;
    if (field.type !== "object" || !inner) return [];
    return freePlaces(field.fields, inner).map(({ names, expected, put, shown }) => ({
      names: names.map((one) => `${name}.${one}`),
      expected,
      put: (text) => ({ ...good, [name]: put(text) }),
      shown: (body) => shown(body[name]),
    }));
  });
  const free = Object.entries(fields).filter(([name, field]) => isFree(field) && !bound.test(name));
  if (free.length === 0) return inside;
  const here: FreePlace = {
    names: free.map(([name]) => name),
    expected: (text) => free.map(([, field]) => (isPolicy(field) ? policyNamed(text) : text)),
    put: (text) => ({ ...good, ...Object.fromEntries(free.map(([name, field]) => [name, freeText(field, text)])) }),
    shown: (body) =>
      free.flatMap(([name, field]) => (field.type === "string" ? [body[name]] : Object.values(body[name]))),
  };
  return [here, ...inside];
}

for (const database of databases) {
  describe(`JSON on ${database.name}`, () => {
    let api: TestApi;
    before(async () => {
      api = await startApi(database);
    });
    after(() => api.stop());

    it(`JSON on ${database.name} stores and returns every string exactly, also after a restart`, async () => {
      const made: { path: string; text: string }[] = [];
      for (const text of naughty) {
        const created = await api.ok("POST", "/ip_policies", { description: text, metadata: text });
        assert.deepEqual([created.description, created.metadata], [text, text], JSON.stringify(text));
        made.push({ path: `/ip_policies/${created.id}`, text });
      }
      await api.plane.stop();
      const again = await startApi(database, {
        databaseUrl: api.databaseUrl,
        bootstrap: { apiKey: api.apiKey, authtoken: api.authtoken },
      });
      try {
        for (const { path, text } of made) {
          const read = await again.ok("GET", path);
          assert.deepEqual([read.description, read.metadata], [text, text], JSON.stringify(text));
        }
        assert.equal(again.plane.firstStart, undefined);
      } finally {
        await again.stop();
      }
      api = await startApi(database);
    });

    it(`JSON on ${database.name} stores and returns every string of every field exactly, also after a restart`, async () => {
      const world = makeWorld(api);
      const expected: { path: string; values: Record<string, unknown> }[] = [];
      for (const operation of describedOperations()) {
        const { id, path, verb, resource, input } = operation;
        if (verb !== "create" || !resource || !input || path !== resource.path) continue;
        const fields = Object.entries(inputOf(operation)).filter(([name, field]) => isFree(field) && !bound.test(name));
        for (const text of fields.length > 0 ? naughty : []) {
          const call = await world.callFor(operation);
          const values = Object.fromEntries(fields.map(([name, field]) => [name, freeText(field, text)]));
          const created = await api.request("POST", call.path, { body: { ...call.body, ...values } });
          assert.equal(created.status, 201, `${id} ${path} ${JSON.stringify(text)}: ${created.text}`);
          for (const [name, value] of Object.entries(values)) {
            if (resource.fields[name]?.writeOnly) delete values[name];
            else assert.deepEqual(created.body[name], value, `${id} ${name} ${JSON.stringify(text)}`);
          }
          expected.push({ path: created.body.uri.slice(api.baseUrl.length), values });
        }
      }
      const kept: typeof expected = [];
      // Of some there can be one at a time: making room for the next one has deleted them.
      for (const one of expected) if ((await api.request("GET", one.path)).status === 200) kept.push(one);
      assert.ok(kept.length > 14 * naughty.length, String(kept.length));
      await api.plane.stop();
      const again = await startApi(database, { databaseUrl: api.databaseUrl, bootstrap: { apiKey: api.apiKey } });
      try {
        for (const { path, values } of kept) {
          const read = await again.ok("GET", path);
          for (const [name, value] of Object.entries(values)) assert.deepEqual(read[name], value, `${path} ${name}`);
        }
      } finally {
        await again.stop();
      }
      api = await startApi(database);
    });

    it(`JSON on ${database.name} stores and returns every string of every module exactly`, async () => {
      const world = makeWorld(api);
      const seen: string[] = [];
      for (const operation of describedOperations()) {
        if (operation.verb !== "replace") continue;
        const { path, body = {} } = await world.callFor(operation);
        const places = freePlaces(operation.input as Fields, body);
        for (const { names, expected: expectedFor, put, shown } of places) {
          seen.push(...names);
          for (const text of naughty) {
            const where = `${operation.id} ${names.join()} ${JSON.stringify(text)}`;
            const replaced = await api.request("PUT", path, { body: put(text) });
            assert.equal(replaced.status, 200, `${where}: ${replaced.text}`);
            const expected = expectedFor(text);
            assert.deepEqual(shown(replaced.body), expected, where);
            assert.deepEqual(shown(await api.ok("GET", path)), expected, where);
          }
        }
      }
      for (const name of ["secret", "client_secret", "authorized_groups"]) assert.ok(seen.includes(name), seen.join());
    });

    it(`JSON on ${database.name} accepts every spelling of a whole number, and no other number`, async () => {
      const headers = { "content-type": "application/json" };
      const path = "/backends/http_response";
      for (const [text, status] of [
        ["404", 404],
        ["404.0", 404],
        ["4.04e2", 404],
        ["4040E-1", 404],
        ["-0", 200],
        ["9007199254740993", undefined],
        ["404.5", undefined],
        ["1e400", undefined],
        ["-1e400", undefined],
        ["4294967700", undefined],
      ] as const) {
        const { status: answered, body } = await api.request("POST", path, {
          body: `{"status_code":${text}}`,
          headers,
        });
        assert.deepEqual([answered, body.status_code], status === undefined ? [400, 400] : [201, status], text);
      }
      for (const text of ["NaN", "Infinity", "0x1", "01", "+1", ".5", "1."]) {
        const { body } = await api.request("POST", path, { body: `{"status_code":${text}}`, headers });
        assert.equal(body.error_code, errorCode("body_unreadable"), text);
      }
    });

    it(`P2: JSON on ${database.name} nests 32 deep and no deeper`, async () => {
      const headers = { "content-type": "application/json" };
      for (const [depth, code] of [
        [32, errorCode("invalid_field")],
        [33, errorCode("body_unreadable")],
        [100_000, errorCode("body_unreadable")],
      ] as const) {
        const body = `{"name":${"[".repeat(depth - 1)}${"]".repeat(depth - 1)}}`;
        assert.equal((await api.request("POST", "/bot_users", { body, headers })).body.error_code, code, String(depth));
      }
    });

    it(`JSON on ${database.name} uses names of Object's own properties as labels like any other`, async () => {
      const labels = { constructor: "a", toString: "b", hasOwnProperty: "c", "": undefined };
      const backend = await api.ok("POST", "/backends/tunnel_group", { labels });
      assert.deepEqual(Object.entries(backend.labels), Object.entries(labels).slice(0, 3));
    });

    it(`JSON on ${database.name} counts bytes, not characters`, async () => {
      for (const [text, status] of [
        ["é".repeat(127), 201],
        ["é".repeat(128), 400],
        ["x".repeat(255), 201],
        ["x".repeat(256), 400],
        ["\ud83d\ude00".repeat(63), 201],
        ["\ud83d\ude00".repeat(64), 400],
      ] as const) {
        assert.equal((await api.request("POST", "/ip_policies", { body: { description: text } })).status, status);
      }
      const metadata = "x".repeat(4097);
      const response = await api.request("POST", "/ip_policies", { body: { metadata } });
      assert.match(response.body.details.metadata, /at most 4096 bytes, is 4097 bytes/);
    });

    it(`P2: JSON on ${database.name} refuses text that two parsers could read differently`, async () => {
      const headers = { "content-type": "application/json" };
      const texts = [
        '{"name":"a","name":"b"}',
        '{"name":"a","\\u006eame":"b"}',
        '{"__proto__":{"name":"a"}}',
        `{"name":${"[".repeat(40)}${"]".repeat(40)}}`,
        '{"name":"a"} {}',
        '\ufeff{"name":"a"}',
        '{"name":"a"/**/}',
      ];
      for (const body of texts) {
        const response = await api.request("POST", "/bot_users", { body, headers });
        assert.deepEqual([response.status, response.body.error_code], [400, errorCode("body_unreadable")], body);
      }
      const invalid = Buffer.from([0x7b, 0x22, 0x6e, 0xff, 0x22, 0x3a, 0x31, 0x7d]);
      assert.equal(
        (await api.request("POST", "/bot_users", { body: invalid, headers })).body.error_code,
        errorCode("body_unreadable"),
      );
    });

    it(`P2: JSON on ${database.name} coerces nothing: huge numbers, numbers as text and texts as numbers are refused`, async () => {
      const headers = { "content-type": "application/json" };
      for (const weight of ["1e400", "-1", "1.5", '"1"', "true", "99999999999999999999"]) {
        const body = `{"backends":{"bkdtg_x":${weight}}}`;
        const response = await api.request("POST", "/backends/weighted", { body, headers });
        assert.equal(response.status, 400, weight);
        assert.ok("backends.bkdtg_x" in response.body.details, response.text);
      }
    });
  });
}
