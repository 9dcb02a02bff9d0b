import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { makeNameSearches } from "./name-searches.ts";

/** Creates a list of names of which some are taken. */
function world(maxNames = 5_000) {
  const searches = makeNameSearches(maxNames);
  const taken = new Set<string>();
  let looks = 0;
  const search = (searcher: object): string | undefined =>
    searches.first(
      "list",
      searcher,
      (ordinal) => `name-${ordinal}`,
      (name) => {
        looks += 1;
        return taken.has(name) ? undefined : name;
      },
    );
  return {
    search,
    take(searcher: object): string | undefined {
      const name = search(searcher);
      if (name !== undefined) taken.add(name);
      return name;
    },
    release(name: string): void {
      taken.delete(name);
      searches.released(name);
    },
    looks: () => looks,
  };
}

describe("searches for a free name", () => {
  it("D9: searches of one session check each taken name once, for any number of names", () => {
    const { take, looks } = world();
    const session = {};
    for (let count = 0; count < 2_000; count += 1) assert.equal(take(session), `name-${count}`);
    assert.ok(looks() <= 4_000, `${looks()} looks`);
  });

  it("searches find the lowest released name, also by another session", () => {
    const { take, release, looks } = world();
    const [one, other] = [{}, {}];
    for (let count = 0; count < 1_000; count += 1) take(one);
    assert.equal(take(other), "name-1000");
    const before = looks();
    for (let count = 0; count < 1_000; count += 1) {
      release("name-500");
      assert.equal(take(one), "name-500");
      release("name-7");
      assert.equal(take(other), "name-7");
    }
    assert.ok(looks() - before <= 4_000, `${looks() - before} looks`);
    assert.equal(take(one), "name-1001");
  });

  it("searches return the same name again until it is taken", () => {
    const { search } = world();
    const session = {};
    assert.deepEqual([search(session), search(session)], ["name-0", "name-0"]);
  });

  it("searches stop at the end of the list, and restart when a name is released", () => {
    const { take, release } = world(2);
    const session = {};
    assert.deepEqual([take(session), take(session), take(session)], ["name-0", "name-1", undefined]);
    release("name-1");
    assert.equal(take(session), "name-1");
  });
});
