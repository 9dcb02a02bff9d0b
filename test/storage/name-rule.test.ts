/** Compares the rule of names in the database with `mayHave`, for random claims of two nodes. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { mayHave, sharesName } from "../../src/directory/name-claims.ts";
import type { NameClaim, NameDecision, NameHolder } from "../../src/directory/name-claims.ts";
import { siblingOf } from "../../src/lib/plain-names.ts";
import type { Presence } from "../../src/storage/cluster/presence.ts";
import { databases } from "../support/postgres.ts";
import { seededRandom } from "../support/random.ts";
import { open } from "./fixture.ts";

const postgres = databases.find(({ name }) => name === "postgres");

const names = ["a.example.com", "http://a.example.com", ":20001"];
const accounts = ["ac_1", "ac_2"];
const pools = [undefined, undefined, "https", "tcp"];
const steps = 600;

/** A tunnel claims one name and stays at one node. */
interface Tunnel {
  readonly id: string;
  readonly name: string;
  readonly accountId: string;
  readonly presence: Presence;
}

/** The expected contents of the database. */
class Model {
  readonly #holders = new Map<string, NameHolder[]>(names.map((name) => [name, []]));

  decide(claim: NameClaim): NameDecision {
    return mayHave(claim, this.at(claim.name), this.at(siblingOf(claim.name)));
  }

  at(name: string): readonly NameHolder[] {
    return this.#holders.get(name) ?? [];
  }

  of({ id, name }: Tunnel): NameHolder | undefined {
    return this.at(name).find(({ tunnelId }) => tunnelId === id);
  }

  grant({ name, tunnelId, accountId, pool }: NameClaim): void {
    const state = this.at(name).find((one) => one.tunnelId === tunnelId)?.state ?? "granted";
    this.#put(name, { tunnelId, accountId, pool, state }, () => true);
  }

  serve(name: string, holder: NameHolder): void {
    this.#put(name, { ...holder, state: "serves" }, (other) => sharesName(other, holder));
  }

  remove({ id, name }: Tunnel): void {
    this.#holders.set(
      name,
      this.at(name).filter(({ tunnelId }) => tunnelId !== id),
    );
  }

  #put(name: string, holder: NameHolder, stays: (other: NameHolder) => boolean): void {
    const others = this.at(name).filter((other) => other.tunnelId !== holder.tunnelId && stays(other));
    this.#holders.set(name, [...others, holder]);
  }
}

if (postgres) {
  describe("the rule of names", () => {
    it("P1: the rule of names in the database decides random claims like the edge and the control plane", async () => {
      const place = await postgres.create();
      const stores = [await open(place.url, { cluster: true }), await open(place.url, { cluster: true })];
      const nodes = stores.map(({ node }) => node?.presence as Presence);
      const tunnels = names.flatMap((name, at) =>
        accounts.flatMap((accountId) =>
          [0, 1, 2].map((n): Tunnel => {
            const presence = nodes[n % 2] as Presence;
            return { id: `tn_${at}${accountId}${n}`, name, accountId, presence };
          }),
        ),
      );
      const seed = 20_261_127;
      const random = seededRandom(seed);
      const model = new Model();
      const seen = new Set<NameDecision>();
      for (let step = 0; step < steps; step += 1) {
        const tunnel = random.pick(tunnels);
        const { id, name, accountId, presence } = tunnel;
        const held = model.of(tunnel);
        const act = random();
        if (act < 0.55) {
          const others = [...model.at(name), ...model.at(siblingOf(name))].map(({ tunnelId }) => tunnelId);
          const replaces = others.filter(() => random() < 0.6);
          const claim: NameClaim = { name, tunnelId: id, accountId, pool: random.pick(pools), replaces };
          const expected = model.decide(claim);
          const decided = await presence.claim(id, { ...claim });
          assert.equal(decided, expected, `seed ${seed}, step ${step}: ${JSON.stringify(claim)}`);
          if (expected === "granted") model.grant(claim);
          seen.add(expected);
        } else if (act < 0.8 && held) {
          presence.put(id, `step ${step}`, { name, accountId, pool: held.pool });
          await presence.told();
          model.serve(name, held);
        } else if (held?.state === "granted") {
          presence.drop(id, name);
          await presence.told();
          model.remove(tunnel);
        } else if (held && act > 0.9) {
          presence.remove(id);
          await presence.told();
          model.remove(tunnel);
        }
      }
      assert.deepEqual([...seen].sort(), ["conflict", "granted", "pending"]);
      for (const store of stores) await store.close();
      await place.drop();
    });
  });
}
