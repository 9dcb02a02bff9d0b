import assert from "node:assert/strict";
import { it } from "node:test";
import { seededRandom } from "../../test/support/random.ts";
import { FoldedRows } from "./folded-rows.ts";

it("folded rows return the stored text after other rows were added, changed and removed, and are found by their keys", () => {
  const random = seededRandom(3);
  const rows = new FoldedRows(3, (at, own, owner) => own[at] ?? `owner-${owner}`);
  const held = new Map<number, { readonly own: string[]; readonly owner: number; text: string }>();
  for (let step = 0; step < 20_000; step += 1) {
    const number = random.pick([...held.keys()].slice(-40));
    const known = held.get(number);
    const chance = random();
    if (known && chance < 0.3) {
      rows.drop(number);
      held.delete(number);
    } else if (known && chance < 0.5) {
      known.text = JSON.stringify({ id: known.own[0], changed: random.below(4) });
      rows.change(number, known.text);
    } else {
      // Some rows share a key, and some have a part that cannot be removed from the text.
      const own = [`k${random.below(9_000)}`, random.pick(["", 'quo"te', "two\nlines", `name-${step}`])];
      const owner = random.below(50);
      const text = `first of ${own[0]}\n${JSON.stringify({ own, of: `owner-${owner}`, all: "alike" })}`;
      held.set(rows.put(own, owner, text), { own, owner, text });
    }
  }
  assert.equal(rows.size, held.size);
  assert.deepEqual(new Set(rows.numbers()), new Set(held.keys()));
  for (const [number, { own, owner, text }] of held) {
    assert.equal(rows.text(number), text);
    assert.equal(rows.line(number, 0), text.split("\n")[0]);
    assert.equal(rows.owner(number), owner);
    assert.ok(rows.find(own[0] as string).includes(number));
    for (const one of rows.find(own[0] as string)) assert.equal(held.get(one)?.own[0], own[0]);
  }
  assert.deepEqual(rows.find("k"), []);
});
