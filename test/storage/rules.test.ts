/** Rules between objects: references, owners, claimed names, accounts. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Refusal } from "../../src/lib/errors.ts";
import type { RefusalName } from "../../src/lib/errors.ts";
import type { Draft, Store } from "../../src/storage/store.ts";
import { databases } from "../support/postgres.ts";
import { contextFor, create, defaultAccount, emptyVault, routeDoc } from "./declarations.ts";
import { open } from "./fixture.ts";

for (const database of databases) {
  describe(`the rules between objects on ${database.name}`, () => {
    let place: Awaited<ReturnType<typeof database.create>>;
    let store: Store;
    let mine: string;
    let theirs: string;

    before(async () => {
      place = await database.create();
      store = await open(place.url);
      mine = defaultAccount(store);
      theirs = (await store.createAccount("others")).id;
    });
    after(async () => {
      await store.close();
      await place.drop();
    });

    const refused = async (
      write: Promise<unknown>,
      reason: RefusalName,
      details?: Readonly<Record<string, string>>,
    ): Promise<void> => {
      const { revision } = store;
      const error = await write.then(
        () => assert.fail("it was not refused"),
        (error: unknown) => error,
      );
      assert.ok(error instanceof Refusal, String(error));
      assert.equal(error.reason, reason);
      if (details) assert.deepEqual(error.details, details);
      assert.equal(store.revision, revision);
    };
    const remove = (id: string, kind: string, accountId = mine): Promise<unknown> =>
      store.write(contextFor(accountId), (draft) => {
        const object = draft.get(accountId, kind, id);
        assert.ok(object);
        draft.delete(object);
      });

    it(`P1: a reference to a missing object, or one of another kind or account, is rejected with its path, on ${database.name}`, async () => {
      const foreign = await create(store, theirs, "policy", { description: "" });
      const own = await create(store, mine, "policy", { description: "" });
      const someone = await create(store, mine, "user", { name: "referred to" });
      for (const policy_id of ["po_nothing", foreign.id, someone.id]) {
        await refused(create(store, mine, "rule", { policy_id, cidr: "10.0.0.0/8" }), "reference_unknown", {
          policy_id: `there is no policy "${policy_id}"`,
        });
      }
      const edge = await create(store, mine, "edge", { hostports: [] });
      const guard = { enabled: false, policy_ids: [own.id, foreign.id], client_secret: "" };
      await refused(create(store, mine, "route", routeDoc(edge.id, guard)), "reference_unknown", {
        "guard.policy_ids[1]": `there is no policy "${foreign.id}"`,
      });
      await refused(create(store, mine, "vault", emptyVault({ weights: { us_no: 1 } })), "reference_unknown", {
        "weights.us_no": 'there is no user "us_no"',
      });
      await refused(create(store, mine, "route", routeDoc("ed_no")), "reference_unknown");
      assert.deepEqual(store.referrers(foreign.id), []);
    });

    it(`an object is visible only to its own account and under its own kind, on ${database.name}`, async () => {
      const object = await create(store, mine, "user", { name: "visible" });
      assert.equal(store.get(mine, "user", object.id), object);
      assert.equal(store.get(theirs, "user", object.id), undefined);
      assert.equal(store.get(mine, "policy", object.id), undefined);
      assert.ok(!store.page(theirs, "user", { limit: 100 }).objects.some(({ id }) => id === object.id));
    });

    it(`a referenced object cannot be deleted, and the rejection names the referrer, on ${database.name}`, async () => {
      const policy = await create(store, mine, "policy", { description: "" });
      const edge = await create(store, mine, "edge", { hostports: [] });
      const guard = { enabled: true, policy_ids: [policy.id], client_secret: "" };
      const route = await create(store, mine, "route", routeDoc(edge.id, guard));
      await refused(remove(policy.id, "policy"), "in_use", { referrer_id: route.id, referrer_kind: "route" });
      assert.deepEqual(store.referrers(policy.id), [route]);

      await store.write(contextFor(mine), (draft) => draft.replace(route, routeDoc(edge.id)));
      await remove(policy.id, "policy");
      assert.equal(store.get(mine, "policy", policy.id), undefined);
    });

    it(`an owner's objects are deleted with it, unless something else needs them, on ${database.name}`, async () => {
      const policy = await create(store, mine, "policy", { description: "" });
      const rules = [];
      for (const cidr of ["10.0.0.0/8", "192.0.2.0/24"]) {
        rules.push(await create(store, mine, "rule", { policy_id: policy.id, cidr }));
      }
      assert.deepEqual(store.children("rule", policy.id), rules);
      assert.deepEqual(store.page(mine, "rule", { limit: 1, parentId: policy.id }), {
        objects: [rules[1]],
        more: true,
      });
      assert.deepEqual(store.page(theirs, "rule", { limit: 1, parentId: policy.id }), { objects: [], more: false });

      const seen: string[] = [];
      store.subscribe(({ changes }) => seen.push(...changes.map(({ id }) => id)));
      await remove(policy.id, "policy");
      assert.deepEqual(seen, [rules[1]?.id, rules[0]?.id, policy.id]);
      assert.deepEqual(store.children("rule", policy.id), []);
      assert.equal(store.get(mine, "rule", rules[0]?.id as string), undefined);
      const again = await create(store, mine, "policy", { description: "" });
      await create(store, mine, "rule", { policy_id: again.id, cidr: "10.0.0.0/8" });
    });

    it(`a name has one holder in its account, and the rejection names the holder, on ${database.name}`, async () => {
      const holder = await create(store, mine, "user", { name: "held" });
      await refused(create(store, mine, "user", { name: "held" }), "name_taken", {
        holder_id: holder.id,
        holder_kind: "user",
      });
      assert.equal(store.holder(mine, "user", "held"), holder);
      assert.equal(store.holder(theirs, "user", "held"), undefined);
      const namesake = await create(store, theirs, "user", { name: "held" });
      assert.equal(store.holder(theirs, "user", "held"), namesake);

      const other = await create(store, mine, "user", { name: "free" });
      await refused(
        store.write(contextFor(mine), (draft) => draft.replace(other, { name: "held" })),
        "name_taken",
      );
      await store.write(contextFor(mine), (draft) => draft.replace(holder, { name: "moved" }));
      await store.write(contextFor(mine), (draft) => draft.replace(other, { name: "held" }));
      assert.equal(store.holder(mine, "user", "held")?.id, other.id);
      assert.equal(store.holder(mine, "user", "free"), undefined);
    });

    it(`R5: a global name has one holder on the server, and another account does not learn its holder, on ${database.name}`, async () => {
      const holder = await create(store, mine, "edge", { hostports: ["a.example.com:443", "b.example.com:443"] });
      await refused(create(store, theirs, "edge", { hostports: ["b.example.com:443"] }), "hostport_held", {});
      await refused(create(store, mine, "edge", { hostports: ["b.example.com:443"] }), "hostport_held", {
        holder_id: holder.id,
        holder_kind: "edge",
      });
      await store.write(contextFor(mine), (draft) => draft.replace(holder, { hostports: ["a.example.com:443"] }));
      await create(store, theirs, "edge", { hostports: ["b.example.com:443"] });
    });

    it(`two objects can exchange their names within one write, on ${database.name}`, async () => {
      const [left, right] = [
        await create(store, mine, "user", { name: "left" }),
        await create(store, mine, "user", { name: "right" }),
      ];
      await store.write(contextFor(mine), (draft) => {
        draft.replace(left, { name: "between" });
        draft.replace(right, { name: "left" });
        draft.replace(left, { name: "right" });
      });
      assert.equal(store.holder(mine, "user", "left")?.id, right.id);
      assert.equal(store.holder(mine, "user", "right")?.id, left.id);
      assert.equal(store.holder(mine, "user", "between"), undefined);
    });

    it(`the rules between objects on ${database.name} let combined steps run in any order, and apply at the end`, async () => {
      const [left, right] = [
        await create(store, mine, "user", { name: "port" }),
        await create(store, mine, "user", { name: "starboard" }),
      ];
      const policy = await create(store, mine, "policy", { description: "" });
      const rule = await create(store, mine, "rule", { policy_id: policy.id, cidr: "192.0.2.0/24" });
      await store.write(contextFor(mine), (draft) =>
        draft.together(() => {
          draft.replace(left, { name: "starboard" });
          draft.replace(right, { name: "port" });
          draft.delete(policy);
          draft.revive(rule);
          draft.revive(policy);
        }),
      );
      assert.equal(store.holder(mine, "user", "port")?.id, right.id);
      assert.equal(store.holder(mine, "user", "starboard")?.id, left.id);
      assert.deepEqual(
        store.children("rule", policy.id).map(({ id }) => id),
        [rule.id],
      );
    });

    it(`the rules between objects on ${database.name} reject combined steps that leave a forbidden name, reference or use`, async () => {
      const holder = await create(store, mine, "edge", { hostports: ["kept.example.com:443"] });
      const foreign = await create(store, theirs, "edge", { hostports: ["theirs.example.com:443"] });
      const used = await create(store, mine, "user", { name: "used" });
      const vault = await create(store, mine, "vault", emptyVault({ weights: { [used.id]: 1 } }));
      const together = (work: (draft: Draft) => void) =>
        store.write(contextFor(mine), (draft) => draft.together(() => work(draft)));
      await refused(
        together((draft) => draft.create(mine, "edge", { hostports: ["kept.example.com:443"] })),
        "hostport_held",
      );
      await refused(
        together((draft) => {
          draft.create(mine, "edge", { hostports: ["new.example.com:443"] });
          draft.create(mine, "edge", { hostports: ["new.example.com:443"] });
        }),
        "hostport_held",
      );
      await refused(
        together((draft) => draft.replace(holder, { hostports: ["theirs.example.com:443"] })),
        "hostport_held",
        { object_id: holder.id, object_kind: "edge" },
      );
      await refused(
        together((draft) => draft.delete(used)),
        "in_use",
        { object_id: used.id, object_kind: "user", referrer_id: vault.id, referrer_kind: "vault" },
      );
      await refused(
        together((draft) => draft.replace(vault, emptyVault({ weights: { us_none: 1 } }))),
        "reference_unknown",
      );
      assert.equal(store.holder(theirs, "hostport", "theirs.example.com:443"), foreign);
      assert.equal(store.holder(mine, "hostport", "kept.example.com:443"), holder);
    });

    it(`the first account exists from the start, others are added, and their names are unique, on ${database.name}`, async () => {
      const [first, second] = store.accounts();
      assert.equal(first?.name, "default");
      assert.deepEqual([second?.id, second?.name], [theirs, "others"]);
      await refused(store.createAccount("others"), "name_taken");
      await assert.rejects(create(store, "ac_none", "user", { name: "x" }), /there is no account "ac_none"/);
    });

    it(`replacing or deleting a deleted object is rejected, on ${database.name}`, async () => {
      const object = await create(store, mine, "user", { name: "gone" });
      await remove(object.id, "user");
      await refused(
        store.write(contextFor(mine), (draft) => draft.replace(object, { name: "back" })),
        "not_found",
      );
      await refused(
        store.write(contextFor(mine), (draft) => draft.delete(object)),
        "not_found",
      );
    });

    it(`a deleted object can be restored with its id, by the same rules, on ${database.name}`, async () => {
      const object = await create(store, mine, "user", { name: "phoenix" });
      await remove(object.id, "user");
      const usurper = await create(store, mine, "user", { name: "phoenix" });
      await refused(
        store.write(contextFor(mine), (draft) => draft.revive(object)),
        "name_taken",
      );
      await remove(usurper.id, "user");
      const { revision } = await store.write(contextFor(mine), (draft) => draft.revive(object));
      assert.deepEqual(store.get(mine, "user", object.id), { ...object, revision });
    });
  });
}
