/** Kinds with very many objects. They are stored as texts, and callers read them like all others. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { f } from "../../src/schema/fields.ts";
import { defineResource } from "../../src/schema/resource.ts";
import type { ResourceDeclaration } from "../../src/schema/resource.ts";
import { isSealedField } from "../../src/schema/concealment.ts";
import type { PackedObjects } from "../../src/schema/packed.ts";
import type { Fields } from "../../src/schema/fields.ts";
import { openStore } from "../../src/storage/opening/open-store.ts";
import { closedAtEnd } from "./fixture.ts";
import type { Store } from "../../src/storage/store.ts";
import { kindsOf } from "../../src/storage/rows/kinds.ts";
import { storedKinds } from "../../src/storage/opening/stored-kinds.ts";
import { databases } from "../support/postgres.ts";
import { contextFor, declarations, defaultAccount, optionsFor } from "./declarations.ts";
import { execute } from "./sql.ts";

const ticket = defineResource({
  name: "ticket",
  schemaName: "Ticket",
  path: "/tickets",
  listKey: "tickets",
  idPrefix: "ti",
  doc: "For tests.",
  operations: [],
  fields: {
    user: f.ref("User.", { to: "user", input: "user_id" }, { required: true }),
    number: f.string("Number."),
    place: f.object("Place.", { hall: f.string("Hall."), seat: f.string("Seat.") }),
    tags: f.list("Tags.", f.string("Tag.")),
    password: f.string("Password.", { secret: true }),
  },
  ownedBy: { kind: "user", field: "user_id" },
  claims: ({ number }) => [{ space: "ticket", name: number }],
  unrecorded: true,
  packed: { keys: ["user_id", "number"], own: ["place.seat", "tags", "password"], common: ["place.hall"] },
}) as unknown as ResourceDeclaration;

const withTickets = { ...declarations, resources: [...declarations.resources, ticket] };
const systemOf = (accountId: string) => contextFor(accountId, { principal: { accountId, id: "system" } });

const odd = ['1"2', "back\\slash", "new\nline", "Grüße", "\u2028", '","', '{"sealed', "plain"];

async function addTickets(store: Store): Promise<readonly string[]> {
  const account = defaultAccount(store);
  const { result } = await store.write(systemOf(account), (draft) => {
    const owner = draft.create(account, "user", { name: "Ada" });
    return odd.map((number, at) => {
      const place = { hall: `Hall ${at % 2} ${number}`, seat: number };
      const doc = { user_id: owner.id, number, place, tags: at === 0 ? [] : [number], password: at < 2 ? number : "" };
      return draft.create(account, "ticket", doc).id;
    });
  });
  return result;
}

function shown(store: Store, ids: readonly string[]): unknown {
  const account = defaultAccount(store);
  const [first] = ids.map((id) => store.get(account, "ticket", id));
  return {
    objects: ids.map((id) => store.get(account, "ticket", id)),
    pages: store.page(account, "ticket", { limit: 3, beforeId: ids[5] as string }),
    children: store.children("ticket", String(first?.doc["user_id"])),
    holders: odd.map((number) => store.holder(account, "ticket", number)?.id),
    referrers: store.referrers(String(first?.doc["user_id"])).map(({ id }) => id),
    packed: new Map([...store.packed("ticket")].flatMap(linesOf)),
  };
}

/** Returns ids and values of a part as it is sent. */
function linesOf({ commons, objects }: PackedObjects): (readonly [id: string, values: readonly unknown[]])[] {
  const lines = Buffer.from(objects).toString().split("\n").slice(0, -1);
  return lines.map((line) => {
    const [, at = "", id = "", own = ""] = /^(\d+) (\S+) (.*)$/su.exec(line) ?? [];
    return [id, [JSON.parse(own), JSON.parse(commons[Number(at)]?.text ?? "")]];
  });
}

for (const database of databases) {
  describe(`objects of a packed kind on ${database.name}`, () => {
    it(`objects of a packed kind are the same after they were written, after a change and after a restart, on ${database.name}`, async () => {
      const { url } = await database.create();
      const options = { ...optionsFor(url), declarations: withTickets };
      let store = await closedAtEnd(openStore(options));
      const ids = await addTickets(store);
      const account = defaultAccount(store);
      const written = shown(store, ids);
      await store.close();
      store = await closedAtEnd(openStore(options));
      assert.deepEqual(shown(store, ids), written);
      const [first, second, third] = ids as [string, string, string];
      await store.write(systemOf(account), (draft) => {
        const one = draft.get(account, "ticket", first);
        const other = draft.get(account, "ticket", second);
        if (!one || !other) throw new Error("a ticket is gone");
        draft.delete(other);
        draft.replace(one, {
          ...one.doc,
          number: other.doc["number"],
          password: "later",
          place: { hall: "", seat: "1" },
        });
      });
      assert.equal(store.holder(account, "ticket", odd[0] as string), undefined);
      assert.equal(store.holder(account, "ticket", odd[1] as string)?.id, first);
      const changed = shown(store, [first, third, ...ids.slice(3)]);
      await store.close();
      store = await closedAtEnd(openStore(options));
      assert.deepEqual(shown(store, [first, third, ...ids.slice(3)]), changed);
      const owner = store.get(account, "ticket", first)?.doc["user_id"] as string;
      await store.write(systemOf(account), (draft) => {
        const user = draft.get(account, "user", owner);
        if (user) draft.delete(user);
      });
      assert.deepEqual([...store.packed("ticket")], []);
      assert.deepEqual(store.children("ticket", owner), []);
      await store.close();
    });

    it(`K4: a secret of a packed object is sealed in its row, and an altered secret prevents the server's start, on ${database.name}`, async () => {
      const { url } = await database.create();
      const options = { ...optionsFor(url), declarations: withTickets };
      const store = await closedAtEnd(openStore(options));
      const [first] = await addTickets(store);
      await store.close();
      const [row] = (await execute(database.name, url, `select doc from objects where id = '${first}'`)) as [
        { doc: string },
      ];
      const [own = ""] = row.doc.split("\n");
      const { sealed } = (JSON.parse(own) as unknown[])[4] as { readonly sealed: string };
      assert.match(sealed, /^[0-9a-f]{12}\.[\w-]+$/);
      const altered = sealed.slice(0, -4) + (sealed.endsWith("AAAA") ? "BBBB" : "AAAA");
      await execute(
        database.name,
        url,
        `update objects set doc = '${row.doc.replace(sealed, altered).replaceAll("'", "''")}' where id = '${first}'`,
      );
      await assert.rejects(openStore(options), /altered or moved/);
    });

    it(`a row of objects that was altered to look like two prevents the server's start, on ${database.name}`, async () => {
      const { url } = await database.create();
      const options = { ...optionsFor(url), declarations: withTickets };
      const store = await closedAtEnd(openStore(options));
      const ids = await addTickets(store);
      await store.close();
      const character = database.name === "postgres" ? "chr(30)" : "char(30)";
      for (const id of [ids[0], ids.at(-1)]) {
        await execute(database.name, url, `update objects set doc = doc || ${character} || 'x' where id = '${id}'`);
        await assert.rejects(openStore(options), /^Error: load /);
        await execute(
          database.name,
          url,
          `update objects set doc = replace(doc, ${character} || 'x', '') where id = '${id}'`,
        );
      }
      await (await closedAtEnd(openStore(options))).close();
    });

    it(`K4: a secret of a packed object that is in plain text in its row is sealed, without loss, on ${database.name}`, async () => {
      const { url } = await database.create();
      const options = { ...optionsFor(url), declarations: withTickets };
      let store = await closedAtEnd(openStore(options));
      const ids = await addTickets(store);
      const written = shown(store, ids);
      await store.close();
      const doc = async (): Promise<string> => {
        const [row] = await execute(database.name, url, `select doc from objects where id = '${ids[0]}'`);
        return (row as { readonly doc: string }).doc;
      };
      // The row as if the field had not been a secret when it was written.
      const plain = (await doc()).replace(/\{"sealed":"[^"]+"\}/, JSON.stringify(odd[0]));
      assert.ok(!plain.includes("sealed"));
      const text = plain.replaceAll("'", "''");
      await execute(database.name, url, `update objects set doc = '${text}' where id = '${ids[0]}'`);
      await execute(database.name, url, "insert into pending (name) values ('seal stored values')");
      store = await closedAtEnd(openStore(options));
      assert.deepEqual(shown(store, ids), written);
      await store.close();
      const [own = "", common] = (await doc()).split("\n");
      assert.match(own, /"sealed_later":/);
      assert.equal(common, plain.split("\n")[1]);
      store = await closedAtEnd(openStore(options));
      assert.deepEqual(shown(store, ids), written);
      await store.close();
    });

    it(`sessions of logins that an older version has stored are present, packed, on ${database.name}`, async () => {
      const { url } = await database.create();
      const options = { ...optionsFor(url), declarations: storedKinds };
      let store = await closedAtEnd(openStore(options));
      const account = defaultAccount(store);
      await store.close();
      const login = { realm: "r", host: "h", siteId: "s", scopes: ["a"], loginAt: 5, checkedAt: 6, endsAt: 7 };
      const identity = { subject: "1", emailVerified: true, memberships: ["g"] };
      const docs = {
        application_user: { provider_user_id: "1", identity_provider: { name: "G", url: "https://g" } },
        application_session: {
          application_user_id: "appusr_0",
          cookie_hash: "c",
          login: JSON.stringify({ ...login, identity }),
          browser_session: { ip_address: "192.0.2.1", user_agent: { raw: "it's" }, location: null },
        },
      };
      for (const [kind, doc] of Object.entries(docs)) {
        const id = kind === "application_user" ? "appusr_0" : "appses_0";
        const text = JSON.stringify(doc).replaceAll("'", "''");
        await execute(
          database.name,
          url,
          `insert into objects (id, account_id, kind, revision, created_at, doc) values ('${id}', '${account}', '${kind}', 1, '2026-01-01T00:00:00Z', '${text}')`,
        );
      }
      await execute(database.name, url, "insert into pending (name) values ('pack stored objects')");
      store = await closedAtEnd(openStore(options));
      const session = store.get(account, "application_session", "appses_0");
      const { loginAt, checkedAt, endsAt, ...common } = login;
      assert.deepEqual(JSON.parse(String(session?.doc["login"])), common);
      assert.deepEqual(
        [session?.doc["login_at"], session?.doc["checked_at"], session?.doc["ends_at"]],
        [loginAt, checkedAt, endsAt],
      );
      const said = session?.doc["identity"] as Readonly<Record<string, unknown>>;
      assert.deepEqual(
        [said["subject"], said["email_verified"], said["memberships"], said["email"]],
        ["1", true, ["g"], ""],
      );
      assert.equal(store.holder(account, "login cookie", "c")?.id, "appses_0");
      assert.equal(store.holder(account, "application user of https://g", "1")?.id, "appusr_0");
      await store.close();
      const rows = (await execute(database.name, url, "select doc from objects where kind like 'application%'")) as {
        doc: string;
      }[];
      assert.deepEqual(
        rows.map(({ doc }) => doc.split("\n").length),
        [2, 2],
      );
      assert.deepEqual(await execute(database.name, url, "select name from pending"), []);
    });
  });
}

/** Returns the names of stored values, as packed kinds list them. */
function pathsOf(fields: Fields, packed: ReadonlySet<string>, above = ""): string[] {
  return Object.entries(fields).flatMap(([name, field]) => {
    const path = above + (field.type === "ref" || field.type === "refList" ? field.input : name);
    if (field.live) return [];
    if (packed.has(path) || field.type !== "object") return [path];
    return pathsOf(field.fields, packed, `${path}.`);
  });
}

describe("packed kinds in the declarations", () => {
  for (const { name, packed, fields, ownedBy } of storedKinds.resources) {
    if (!packed) continue;
    it(`packed kinds have each stored value in one of their lists: ${name}`, () => {
      const all = [...packed.keys, ...packed.own, ...packed.common];
      assert.deepEqual(pathsOf(fields, new Set(all)).sort(), [...all].sort());
      const sealed = all.filter((path) => isSealedField(fields[path] ?? { type: "string", doc: "", maxBytes: 1 }));
      for (const path of sealed) assert.ok(packed.own.includes(path), `"${path}" differs wherever it is sealed`);
    });

    it(`packed kinds have the names that they claim and the ids that they reference in their keys: ${name}`, () => {
      const kind = kindsOf(storedKinds).get(name);
      const doc = Object.fromEntries([...packed.keys, ...packed.common].map((path) => [path, `value of ${path}`]));
      const found = [
        ...(kind?.claims(doc) ?? []).map((claim) => claim.name),
        ...(kind?.references(doc) ?? []).map(({ id }) => id),
      ];
      if (ownedBy) found.push(String(doc[ownedBy.field]));
      const keys = packed.keys.map((path) => `value of ${path}`);
      assert.deepEqual([...new Set(found)].sort(), keys.sort());
    });
  }
});
