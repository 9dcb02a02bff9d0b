/** An export is a document that changes nothing, for whatever an account has. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { documentKinds } from "../../src/api/documents/document.ts";
import type { ResourceDeclaration } from "../../src/schema/resource.ts";
import { send, startApi } from "../support/api.ts";
import type { Body, TestApi } from "../support/api.ts";
import { databases } from "../support/postgres.ts";
import { randomInput } from "../support/random-input.ts";
import { seededRandom } from "../support/random.ts";
import type { Random } from "../support/random.ts";

const sqlite = databases[0] as (typeof databases)[number];

const rounds = 6;
const steps = 150;

describe("the export", () => {
  let api: TestApi;
  before(async () => {
    api = await startApi(sqlite);
  });
  after(() => api.stop());

  for (let seed = 1; seed <= rounds; seed += 1) {
    it(`the export of a random configuration, applied, plans no change (${seed})`, async () => {
      const { api_key: key } = await api.ok("POST", "/accounts", { name: `account ${seed}` });
      const made = await makeRandomly(api, key, seededRandom(seed));
      assert.ok(made.size >= 8, `kinds: ${[...made].join(", ")}`);
      const exported = await api.ok("GET", "/export", undefined, key);
      const planned = await api.ok("POST", "/plan", exported, key);
      for (const change of planned.changes) assert.equal(change.action, "unchanged", JSON.stringify(change));
      assert.ok(planned.changes.length >= 20);

      const headers = { authorization: `Bearer ${key}`, "service-version": "2", accept: "application/yaml" };
      const yaml = await send(api.baseUrl, "GET", "/export", undefined, headers);
      const type = { "content-type": "application/yaml" };
      const fromYaml = await api.request("POST", "/plan", { body: yaml.text, key, headers: type });
      assert.equal(fromYaml.status, 200, fromYaml.text);
      assert.deepEqual(fromYaml.body, planned);

      const before = await state(api, key);
      const applied = await api.ok("POST", "/apply", exported, key);
      assert.equal(applied.summary.unchanged, planned.changes.length);
      assert.deepEqual(await state(api, key), before);
      const named = await api.ok("GET", "/export", undefined, key);
      const again = await api.ok("POST", "/apply", { ...named, prune: true }, key);
      assert.deepEqual([again.summary, again.revision], [applied.summary, applied.revision]);
      assert.deepEqual(withoutIds(named), withoutIds(exported));
    });
  }
});

/** All readable state. */
async function state(api: TestApi, key: string): Promise<Body> {
  const lists = documentKinds.filter(({ operations }) => operations?.includes("list") ?? true);
  const all: Record<string, Body> = {};
  for (const { path } of lists) all[path] = await api.ok("GET", path, undefined, key);
  return all;
}

function withoutIds(document: Body): Body {
  const copy = structuredClone(document);
  for (const objects of Object.values<Body>(copy.objects)) {
    for (const fields of Object.values<Body>(objects)) delete fields.id;
  }
  return copy;
}

/** Creates, changes and deletes. Refused writes are skipped. Returns the kinds of created objects. */
async function makeRandomly(api: TestApi, key: string, random: Random): Promise<ReadonlySet<string>> {
  const objects = new Map<string, { readonly resource: ResourceDeclaration; readonly path: string }>();
  const made = new Set<string>();
  const someId = (kinds: readonly string[]): string | undefined => {
    const ids = [...objects].filter(([, { resource }]) => kinds.includes(resource.name)).map(([id]) => id);
    return ids.length === 0 ? undefined : random.pick(ids);
  };
  for (let step = 0; step < steps; step += 1) {
    const ids = [...objects.keys()];
    const chance = random();
    if (chance < 0.75 || ids.length < 10) {
      const resource = random.pick(documentKinds);
      const owner = resource.path.includes("{") ? someId([resource.ownedBy?.kind as string]) : "";
      if (owner === undefined) continue;
      const body = randomInput(resource.fields, random, someId);
      const path = resource.path.replace(/\{\w+\}/, owner);
      const response = await api.request("POST", path, { body, key });
      if (response.status !== 201) continue;
      made.add(resource.name);
      objects.set(response.body.id, { resource, path: `${path}/${response.body.id}` });
    } else {
      const id = random.pick(ids);
      const { resource, path } = objects.get(id) as { resource: ResourceDeclaration; path: string };
      if (chance < 0.9) {
        const body = randomInput(resource.fields, random, someId);
        const immutable = new Set(
          Object.entries(resource.fields).flatMap(([name, field]) =>
            field.immutable ? ["input" in field ? field.input : name] : [],
          ),
        );
        const changes = Object.fromEntries(Object.entries(body).filter(([name]) => !immutable.has(name)));
        await api.request("PATCH", path, { body: changes, key });
      } else if ((await api.request("DELETE", path, { key })).status === 204) objects.delete(id);
    }
  }
  return made;
}
