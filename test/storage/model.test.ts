/** Random writes compared with a trivial model: a list of objects, searched linearly. */
import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { describe, it } from "node:test";
import { Refusal } from "../../src/lib/errors.ts";
import type { Draft, Reader, Store, StoredObject } from "../../src/storage/store.ts";
import { databases } from "../support/postgres.ts";
import { contextFor, declarations, defaultAccount } from "./declarations.ts";
import { open } from "./fixture.ts";

type Doc = Readonly<Record<string, unknown>>;

interface Entry {
  readonly kind: string;
  readonly id: string;
  readonly account: string;
  readonly doc: Doc;
}

/** References and claims of each kind, written by hand. */
const facts: Record<string, (doc: Doc, account: string) => { refs: readonly string[]; names: readonly string[] }> = {
  user: (doc, account) => ({ refs: [], names: [`${account} user ${String(doc["name"])}`] }),
  policy: () => ({ refs: [], names: [] }),
  rule: (doc, account) => ({
    refs: [`policy ${String(doc["policy_id"])}`],
    names: [`${account} ${String(doc["policy_id"])} ${String(doc["cidr"])}`],
  }),
  edge: (doc) => ({ refs: [], names: (doc["hostports"] as string[]).map((name) => `hostport ${name}`) }),
  route: (doc) => ({
    refs: [
      `edge ${String(doc["edge_id"])}`,
      ...((doc["guard"] as { policy_ids: string[] } | null)?.policy_ids ?? []).map((id) => `policy ${id}`),
    ],
    names: [],
  }),
  vault: (doc) => ({ refs: Object.keys(doc["weights"] as object).map((id) => `user ${id}`), names: [] }),
};
const owners: Record<string, readonly [kind: string, field: string]> = {
  rule: ["policy", "policy_id"],
  route: ["edge", "edge_id"],
};
const kinds = Object.keys(facts);

class Model {
  entries: Entry[];

  constructor(entries: readonly Entry[] = []) {
    this.entries = [...entries];
  }

  /** Returns the name of the rejection, or undefined after the change. */
  put(entry: Entry): string | undefined {
    const others = this.entries.filter(({ id }) => id !== entry.id);
    const { refs, names } = this.factsOf(entry);
    const known = new Set(
      this.entries.filter((one) => one.account === entry.account).map((one) => `${one.kind} ${one.id}`),
    );
    if (refs.some((ref) => !known.has(ref))) return "reference_unknown";
    const held = new Set(others.flatMap((one) => this.factsOf(one).names));
    if (names.some((name) => held.has(name)))
      return { edge: "hostport_held", rule: "cidr_duplicate" }[entry.kind] ?? "name_taken";
    this.entries = [...others, entry];
    return undefined;
  }

  remove(entry: Entry): string | undefined {
    const going = new Set([entry.id, ...this.owned(entry.id).map(({ id }) => id)]);
    const staying = this.entries.filter(({ id }) => !going.has(id));
    const needed = new Set(staying.flatMap((one) => this.factsOf(one).refs.map((ref) => ref.split(" ")[1])));
    if ([...going].some((id) => needed.has(id))) return "in_use";
    this.entries = staying;
    return undefined;
  }

  owned(parent: string): Entry[] {
    return this.entries.filter(({ kind, doc }) => doc[owners[kind]?.[1] ?? ""] === parent);
  }

  /** Returns the ids of all referrers by id. */
  referrers(): ReadonlyMap<string, ReadonlySet<string>> {
    const found = new Map<string, Set<string>>();
    for (const entry of this.entries) {
      for (const ref of this.factsOf(entry).refs) {
        const id = ref.split(" ")[1] as string;
        found.set(id, (found.get(id) ?? new Set()).add(entry.id));
      }
    }
    return found;
  }

  factsOf({ kind, doc, account }: Entry): { refs: readonly string[]; names: readonly string[] } {
    return (facts[kind] as (typeof facts)[string])(doc, account);
  }

  list(account: string, kind: string): string[] {
    return this.entries
      .filter((one) => one.account === account && one.kind === kind)
      .map(({ id }) => id)
      .sort()
      .reverse();
  }
}

const lives = [
  ...databases.map((database) => ({ ...database, nodes: 1 })),
  ...databases
    .filter(({ name }) => name === "postgres")
    .map((database) => ({ ...database, name: "three nodes on postgres", nodes: 3 })),
];

for (const database of lives) {
  describe(`a random life on ${database.name}`, () => {
    it(`a random life on ${database.name} matches the model in drafts, after commits, after restarts and in the past, paging while deleting`, async () => {
      const seed = randomInt(2 ** 31);
      const random = generator(seed);
      const place = await database.create();
      const start = (): Promise<Store> => open(place.url, { cluster: database.nodes > 1 });
      const nodes = await Promise.all(Array.from({ length: database.nodes }, start));
      let store = nodes[0] as Store;
      const accounts = [defaultAccount(store), (await store.createAccount("second")).id];
      let model = new Model();
      const past: { readonly revision: number; readonly entries: readonly Entry[] }[] = [];
      try {
        for (let round = 0; round < 120; round += 1) {
          // The next writer may have missed the last writer's changes.
          const at = random(nodes.length);
          store = nodes[at] as Store;
          const committed = model;
          if (random(2) === 0) await store.refresh();
          const pager = startPaging(store, accounts[0] as string, random);
          const writes = Array.from({ length: 1 + random(6) }, (_, index) => {
            const account = pick(random, accounts);
            return store.write(contextFor(account), (draft) => {
              // Writes run in the order of the calls. Each one builds on the state after the previous ones.
              if (index === 0) model = committed;
              const attempt = new Model(model.entries);
              for (let step = 1 + random(4); step > 0; step -= 1) act(random, draft, attempt, account);
              compare(draft, attempt, accounts);
              if (random(5) === 0) throw new Error("changed my mind");
              model = attempt;
            });
          });
          for (const outcome of await Promise.allSettled(writes)) {
            if (outcome.status === "rejected") assert.equal((outcome.reason as Error).message, "changed my mind");
          }
          compare(store, model, accounts);
          pager.check(model);
          past.push({ revision: store.revision, entries: model.entries });
          if (round % 40 === 39) {
            await store.close();
            nodes[at] = store = await start();
            compare(store, model, accounts);
          }
        }
        // Of some 420 writes, four fifths are not discarded. It is practically impossible that so few change anything.
        assert.ok(store.revision > 100, `${store.revision} revisions`);
        for (let n = 0; n < 10; n += 1) await comparePast(store, pick(random, past), accounts);
        assert.deepEqual(await store.history.verify(), { revisions: store.revision });
        for (const node of nodes) {
          await node.refresh();
          compare(node, model, accounts);
          await node.close();
        }
        await place.drop();
      } catch (error) {
        throw new Error(`with seed ${seed}`, { cause: error });
      }
    });
  });
}

/** Makes one random change to both. Both must agree on whether it is rejected. */
function act(random: (below: number) => number, draft: Draft, model: Model, account: string): void {
  const own = model.entries.filter((one) => one.account === account);
  const choice = random(10);
  let expected: string | undefined;
  let actual: string | undefined;
  const attempt = (work: () => void): void => {
    try {
      work();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      actual = error.reason;
    }
  };
  if (choice < 6 || own.length === 0) {
    const kind = pick(random, kinds);
    const doc = randomDoc(random, kind, model);
    let made: StoredObject | undefined;
    attempt(() => (made = draft.create(account, kind, doc)));
    expected = model.put({ kind, id: made?.id ?? "none", account, doc });
  } else {
    const entry = pick(random, own);
    const object = draft.get(account, entry.kind, entry.id);
    assert.ok(object);
    if (choice < 8) {
      const doc = randomDoc(random, entry.kind, model);
      attempt(() => void draft.replace(object, doc));
      expected = model.put({ ...entry, doc });
    } else {
      attempt(() => draft.delete(object));
      expected = model.remove(entry);
    }
  }
  assert.equal(actual, expected);
}

/** Returns names from so small a pool that they clash, and references to any object of either account. */
function randomDoc(random: (below: number) => number, kind: string, model: Model): Doc {
  const some = (kind: string): string => {
    const ids = model.entries.filter((one) => one.kind === kind).map(({ id }) => id);
    return ids.length === 0 || random(12) === 0 ? "xx_none" : pick(random, ids);
  };
  switch (kind) {
    case "user":
      return { name: `name ${random(30)}` };
    case "policy":
      return { description: `policy ${random(1000)}` };
    case "rule":
      return { policy_id: some("policy"), cidr: `10.${random(6)}.0.0/16` };
    case "edge":
      return { hostports: Array.from({ length: random(3) }, () => `h${random(30)}.example.com:443`) };
    case "route": {
      const policy_ids = Array.from({ length: random(3) }, () => some("policy"));
      const guard = random(2) === 0 ? null : { enabled: true, policy_ids, client_secret: `s${random(1000)}` };
      return { edge_id: some("edge"), match: "/", guard };
    }
    default: {
      const weights = Object.fromEntries(Array.from({ length: random(3) }, () => [some("user"), random(100)]));
      return { password: `p${random(1000)}`, tokens: [], named: {}, weights };
    }
  }
}

function compare(reader: Reader, model: Model, accounts: readonly string[]): void {
  for (const account of accounts) {
    for (const kind of kinds) {
      const ids = model.list(account, kind);
      const { objects, more } = reader.page(account, kind, { limit: 1000 });
      assert.deepEqual(
        objects.map(({ id }) => id),
        ids,
      );
      assert.equal(more, false);
      if (ids.length < 2) continue;
      const [first, second] = ids as [string, string];
      assert.deepEqual(
        reader.page(account, kind, { limit: 1, beforeId: first }).objects.map(({ id }) => id),
        [second],
      );
      assert.equal(reader.page(account, kind, { limit: ids.length - 1 }).more, true);
    }
  }
  const referrers = model.referrers();
  for (const entry of model.entries) {
    assert.deepEqual(reader.get(entry.account, entry.kind, entry.id)?.doc, entry.doc);
    assert.deepEqual(
      reader
        .referrers(entry.id)
        .map(({ id }) => id)
        .sort(),
      [...(referrers.get(entry.id) ?? [])].sort(),
    );
    for (const [kind, [ownerKind]] of Object.entries(owners)) {
      if (entry.kind !== ownerKind) continue;
      const children = model
        .owned(entry.id)
        .map(({ id }) => id)
        .sort();
      assert.deepEqual(
        reader.children(kind, entry.id).map(({ id }) => id),
        children,
      );
    }
  }
  for (let n = 0; n < 30; n += 1) {
    const name = `h${n}.example.com:443`;
    const holder = model.entries.find(
      (one) => one.kind === "edge" && (one.doc["hostports"] as string[]).includes(name),
    );
    assert.equal(reader.holder(accounts[0] as string, "hostport", name)?.id, holder?.id);
  }
}

/**
 * Reads some pages now and the rest during the check. Every object that existed all the time must appear exactly once,
 * and none may appear twice.
 */
function startPaging(store: Store, account: string, random: (below: number) => number): { check(model: Model): void } {
  const kind = pick(random, kinds);
  const limit = 1 + random(4);
  const atStart = store.page(account, kind, { limit: 1000 }).objects.map(({ id }) => id);
  const seen: string[] = [];
  let beforeId: string | undefined;
  const next = (): boolean => {
    const { objects, more } = store.page(account, kind, { limit, ...(beforeId !== undefined && { beforeId }) });
    seen.push(...objects.map(({ id }) => id));
    beforeId = objects.at(-1)?.id ?? beforeId;
    return more;
  };
  let more = next();
  return {
    check(model) {
      while (more) more = next();
      assert.equal(new Set(seen).size, seen.length);
      const atEnd = new Set(model.list(account, kind));
      for (const id of atStart) if (atEnd.has(id)) assert.ok(seen.includes(id));
    },
  };
}

async function comparePast(
  store: Store,
  { revision, entries }: { readonly revision: number; readonly entries: readonly Entry[] },
  accounts: readonly string[],
): Promise<void> {
  const model = new Model(entries);
  for (const account of accounts) {
    for (const kind of kinds) {
      const { objects } = await store.history.pageAt(revision, account, kind, { limit: 1000 });
      assert.deepEqual(
        objects.map(({ id }) => id),
        model.list(account, kind),
      );
      for (const { id, doc } of objects) assert.deepEqual(doc, entries.find((one) => one.id === id)?.doc);
    }
  }
}

function pick<T>(random: (below: number) => number, from: readonly T[]): T {
  return from[random(from.length)] as T;
}

/** Returns whole numbers below a bound, the same for the same seed (xorshift32). */
function generator(seed: number): (below: number) => number {
  let state = seed | 1;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

assert.deepEqual(
  kinds,
  declarations.resources.map(({ name }) => name),
);
