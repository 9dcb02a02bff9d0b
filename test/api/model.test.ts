/** A random life of the API, which a simple model foresees: answers, lists, races and crashes. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { newToken, tokenPrefixes } from "../../src/lib/tokens.ts";
import { send } from "../support/api.ts";
import type { ApiResponse, Body } from "../support/api.ts";
import { databases } from "../support/postgres.ts";
import { checkResponse } from "../support/response-check.ts";
import { seededRandom } from "../support/random.ts";
import type { Random } from "../support/random.ts";
import { facts, Model } from "./model.ts";
import type { Doc, Entry, Kind } from "./model.ts";

const rounds = 150;
const crashes = 3;
const kinds = Object.keys(facts) as readonly Kind[];
const listKeys: Readonly<Record<string, string>> = {
  bot_user: "bot_users",
  ip_policy: "ip_policies",
  ip_policy_rule: "ip_policy_rules",
  https_edge: "https_edges",
};

class Life {
  readonly random: Random;
  readonly #url: string;
  readonly #key = newToken(tokenPrefixes.apiKey);
  model = new Model();
  /** Objects that were made one by one. */
  created = 0;
  #child: ChildProcess | undefined;
  #baseUrl = "";

  constructor(random: Random, url: string) {
    this.random = random;
    this.#url = url;
  }

  async start(): Promise<void> {
    const script = fileURLToPath(new URL("api-process.ts", import.meta.url));
    const child = spawn(process.execPath, [script, this.#url, this.#key], { stdio: ["ignore", "pipe", "inherit"] });
    this.#child = child;
    const ended = once(child, "close").then(([code]) => {
      throw new Error(`the process ended with ${String(code)}`);
    });
    ended.catch(() => undefined);
    const [port] = (await Promise.race([once(child.stdout, "data"), ended])) as [Buffer];
    this.#baseUrl = `http://127.0.0.1:${port.toString().trim()}`;
  }

  async kill(): Promise<void> {
    const child = this.#child as ChildProcess;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "close");
    child.kill("SIGKILL");
    await ended;
  }

  async call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<ApiResponse> {
    const response = await send(this.#baseUrl, method, path, body, {
      authorization: `Bearer ${this.#key}`,
      "service-version": "2",
      ...(body !== undefined && { "content-type": "application/json" }),
      ...headers,
    });
    checkResponse(method, path, response);
    return response;
  }

  /** An id of the kind, nearly always of an existing object. */
  someId(kind: Kind): string {
    const all = this.model.of(kind);
    return all.length === 0 || this.random.below(20) === 0 ? `x_${"0".repeat(27)}` : this.random.pick(all).id;
  }

  input(kind: Kind): Doc {
    const { random } = this;
    const text = `text ${random.below(1000)}`;
    const policies = Array.from(new Set([this.someId("ip_policy"), this.someId("ip_policy")]));
    switch (kind) {
      case "bot_user":
        return { name: `bot ${random.below(15)}`, active: random.below(2) === 0 };
      case "ip_policy":
        return { description: text, metadata: random.pick(["", "{}"]) };
      case "ip_policy_rule":
        return {
          ip_policy_id: this.someId("ip_policy"),
          cidr: `10.0.${random.below(4)}.0/24`,
          action: random.pick(["allow", "deny"]),
        };
      case "https_edge":
        return {
          description: text,
          hostports: [`h${random.below(6)}.example.com:443`, `i${random.below(6)}.example.com:443`],
        };
      case "https_edge_route":
        return {
          edge_id: this.someId("https_edge"),
          match_type: random.pick(["exact_path", "path_prefix"]),
          match: `/${random.below(3)}`,
          ip_restriction: random.below(3) === 0 ? null : { ip_policy_ids: policies },
        };
    }
  }

  /** Some of the fields that can be changed. */
  change(kind: Kind): Doc {
    const unchangeable = new Set(["ip_policy_id", "edge_id", ...(kind === "ip_policy_rule" ? ["action"] : [])]);
    const given = Object.entries(this.input(kind)).filter(([name]) => !unchangeable.has(name));
    return Object.fromEntries(given.filter(() => this.random.below(3) > 0));
  }

  async create(kind: Kind): Promise<void> {
    const doc = this.input(kind);
    const response = await this.call("POST", facts[kind].collection(doc), bodyOf(kind, doc));
    const id = (response.body.id as string | undefined) ?? "";
    assert.equal(response.status, this.model.put({ kind, id, doc }, 201), `create ${kind}: ${response.text}`);
    if (response.status !== 201) return;
    this.created += 1;
    assert.deepEqual(seen(kind, response.body), facts[kind].shown(doc));
  }

  async update(kind: Kind): Promise<void> {
    const entry = this.pick(kind);
    if (!entry) return;
    const change = this.change(kind);
    const doc = { ...entry.doc, ...change };
    const response = await this.call("PATCH", pathOf(entry), change);
    assert.equal(response.status, this.model.put({ ...entry, doc }, 200), `update ${kind}: ${response.text}`);
    if (response.status === 200) assert.deepEqual(seen(kind, response.body), facts[kind].shown(doc));
  }

  async remove(kind: Kind): Promise<void> {
    const entry = this.pick(kind);
    if (!entry) return;
    const response = await this.call("DELETE", pathOf(entry));
    assert.equal(response.status, this.model.remove(entry.id), `delete ${kind}: ${response.text}`);
  }

  async replaceModule(): Promise<void> {
    const entry = this.pick("https_edge_route");
    if (!entry) return;
    const path = `${pathOf(entry)}/ip_restriction`;
    const isSet = entry.doc["ip_restriction"] !== null;
    if (this.random.below(2) === 0) {
      const module = { ip_policy_ids: [this.someId("ip_policy")] };
      const response = await this.call("PUT", path, module);
      const expected = this.model.put({ ...entry, doc: { ...entry.doc, ip_restriction: module } }, 200);
      assert.equal(response.status, expected, response.text);
    } else {
      const response = await this.call("DELETE", path);
      assert.equal(response.status, isSet ? 204 : 404);
      if (isSet) this.model.put({ ...entry, doc: { ...entry.doc, ip_restriction: null } }, 204);
    }
  }

  /** Several writers have read the same version: one of them succeeds. */
  async raceOnOne(): Promise<void> {
    const entry = this.pick("bot_user");
    if (!entry) return;
    const { headers } = await this.call("GET", pathOf(entry));
    const names = Array.from({ length: 4 }, (_, writer) => `winner ${writer} ${this.random.below(1e9)}`);
    const answers = await Promise.all(
      names.map((name) => this.call("PATCH", pathOf(entry), { name }, { "if-match": headers["etag"] as string })),
    );
    assert.deepEqual(statuses(answers), [200, 412, 412, 412]);
    const name = names[answers.findIndex(({ status }) => status === 200)];
    this.model.put({ ...entry, doc: { ...entry.doc, name } }, 200);
  }

  /** Several writers want the same name: one of them succeeds. */
  async raceForName(): Promise<void> {
    const doc = { name: `raced ${this.random.below(1e9)}`, active: true };
    const answers = await Promise.all(Array.from({ length: 4 }, () => this.call("POST", "/bot_users", doc)));
    assert.deepEqual(statuses(answers), [201, 409, 409, 409]);
    const made = answers.find(({ status }) => status === 201) as ApiResponse;
    this.model.put({ kind: "bot_user", id: made.body.id, doc }, 201);
  }

  /** Objects that exist all the time are listed once, and nothing is listed twice. */
  async pageWhileWriting(): Promise<void> {
    const kind = this.random.pick(["bot_user", "ip_policy_rule", "ip_policy"] as const);
    const before = this.model.of(kind).map(({ id }) => id);
    const shown: string[] = [];
    let path = `${facts[kind].collection({})}?limit=${1 + this.random.below(4)}`;
    for (;;) {
      const { body } = await this.call("GET", path);
      for (const one of body[listKeys[kind] as string]) shown.push(one.id);
      await this.remove(kind);
      if (this.random.below(3) === 0) await this.create(kind);
      if (body.next_page_uri === null) break;
      path = body.next_page_uri.slice(this.#baseUrl.length);
    }
    assert.equal(new Set(shown).size, shown.length, "shown twice");
    const after = new Set(this.model.of(kind).map(({ id }) => id));
    const steady = before.filter((id) => after.has(id));
    assert.deepEqual(
      shown.filter((id) => after.has(id) && before.includes(id)),
      steady,
    );
  }

  /** Kills the process under writes: answered writes persist, and unanswered ones happened completely or not at all. */
  async crash(): Promise<void> {
    const answered: (() => void)[] = [];
    const open = new Set<() => Entry | string>();
    const attempts: Promise<void>[] = [];
    let settled = 0;
    const attempt = (call: Promise<ApiResponse>, outcome: () => Entry | string): void => {
      open.add(outcome);
      const done = call.then(({ status, body }) => {
        open.delete(outcome);
        const result = outcome();
        answered.push(() => {
          if (typeof result === "string") assert.equal(status, this.model.remove(result));
          else assert.equal(status, this.model.put({ ...result, id: result.id || body.id }, result.id ? 200 : 201));
        });
      });
      attempts.push(done.catch(() => undefined).then(() => void (settled += 1)));
    };
    const victims = this.model.of("bot_user");
    for (let n = 0; n < 24; n += 1) {
      const doc = { name: `crash ${n} ${this.random.below(1e9)}`, active: true };
      const victim = n % 3 === 0 ? undefined : victims.pop();
      if (!victim) attempt(this.call("POST", "/bot_users", doc), () => ({ kind: "bot_user", id: "", doc }));
      else if (n % 3 === 1) attempt(this.call("PATCH", pathOf(victim), doc), () => ({ ...victim, doc }));
      else attempt(this.call("DELETE", pathOf(victim)), () => victim.id);
    }
    const enough = this.random.below(16);
    while (answered.length < enough && settled < attempts.length) await turn();
    await this.kill();
    await Promise.all(attempts);
    for (const apply of answered) apply();
    await this.start();
    await this.adopt([...open].map((outcome) => outcome()));
  }

  /** Adopts unanswered writes that happened. */
  async adopt(unknown: readonly (Entry | string)[]): Promise<void> {
    const actual = new Map<string, Body>((await this.all("bot_user")).map((one) => [one.id, one]));
    for (const outcome of unknown) {
      if (typeof outcome === "string") {
        if (!actual.has(outcome)) this.model.remove(outcome);
        continue;
      }
      const { name } = outcome.doc;
      const found = outcome.id ? actual.get(outcome.id) : [...actual.values()].find((one) => one.name === name);
      if (found?.name === name) this.model.put({ ...outcome, id: found.id }, 200);
    }
  }

  async all(kind: Kind): Promise<Body[]> {
    const found: Body[] = [];
    let path = `${facts[kind].collection({})}?limit=${5 + this.random.below(96)}`;
    for (;;) {
      const { body } = await this.call("GET", path);
      found.push(...body[listKeys[kind] as string]);
      if (body.next_page_uri === null) return found;
      path = body.next_page_uri.slice(this.#baseUrl.length);
    }
  }

  async compare(): Promise<void> {
    for (const kind of kinds) {
      const expected = this.model.of(kind).map(({ id, doc }) => ({ id, ...facts[kind].shown(doc) }));
      const objects =
        kind === "https_edge_route"
          ? (await this.all("https_edge")).flatMap(({ routes }) => routes).sort((a, b) => (a.id < b.id ? 1 : -1))
          : await this.all(kind);
      assert.deepEqual(
        objects.map((object) => ({ id: object.id, ...seen(kind, object) })),
        expected,
        kind,
      );
    }
  }

  pick(kind: Kind): Entry | undefined {
    const all = this.model.of(kind);
    return all.length === 0 ? undefined : this.random.pick(all);
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}

function statuses(answers: readonly ApiResponse[]): number[] {
  return answers.map(({ status }) => status).sort((a, b) => a - b);
}

function pathOf({ kind, id, doc }: Entry): string {
  return `${facts[kind].collection(doc)}/${id}`;
}

/** Without the parts that the path determines. */
function bodyOf(kind: Kind, doc: Doc): Doc {
  if (kind !== "https_edge_route") return doc;
  const { edge_id: _, ...rest } = doc;
  return rest;
}

/** The part of an answer that the model knows, references as ids. */
function seen(kind: Kind, body: Body): Doc {
  switch (kind) {
    case "bot_user":
      return { name: body.name, active: body.active };
    case "ip_policy":
      return { description: body.description, metadata: body.metadata };
    case "ip_policy_rule":
      return { ip_policy: body.ip_policy.id, cidr: body.cidr, action: body.action };
    case "https_edge":
      return { description: body.description, hostports: body.hostports };
    case "https_edge_route":
      return {
        edge_id: body.edge_id,
        match_type: body.match_type,
        match: body.match,
        ip_restriction: body.ip_restriction && body.ip_restriction.ip_policies.map(({ id }: Body) => id),
      };
  }
}

for (const database of databases) {
  describe(`a random life of the API on ${database.name}`, () => {
    it(`S1: a random life of the API on ${database.name} is that of the model, with races, paging under deletes, and kill -9 in between`, async () => {
      const seed = randomInt(2 ** 31);
      const place = await database.create();
      const life = new Life(seededRandom(seed), place.url);
      try {
        await life.start();
        for (let round = 1; round <= rounds; round += 1) {
          const choice = life.random.below(20);
          if (choice < 9) await life.create(life.random.pick(kinds));
          else if (choice < 13) await life.update(life.random.pick(kinds));
          else if (choice < 15) await life.remove(life.random.pick(kinds));
          else if (choice < 16) await life.replaceModule();
          else if (choice < 17) await life.raceOnOne();
          else if (choice < 18) await life.raceForName();
          else await life.pageWhileWriting();
          if (round % Math.floor(rounds / crashes) === 0) await life.crash();
          if (round % 10 === 0) await life.compare();
        }
        // About a third of the rounds make one; that so few did is as good as impossible.
        assert.ok(life.created > rounds / 30, `${life.created} created`);
      } catch (error) {
        throw new Error(`with seed ${seed}`, { cause: error });
      } finally {
        await life.kill();
        await place.drop();
      }
    });
  });
}
