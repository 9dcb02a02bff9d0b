import assert from "node:assert/strict";
import { it } from "node:test";
import { Roster } from "./roster.ts";
import type { RosterMember } from "./roster.ts";

function member(): RosterMember {
  return { place: -1 };
}

it("a roster has each member once, and can remove any of them", () => {
  const roster = new Roster();
  const [first, second, third] = [member(), member(), member()];
  for (const one of [first, second, third, second]) roster.add(one);
  assert.equal(roster.size, 3);
  assert.equal(roster.delete(first), true);
  assert.deepEqual(new Set(roster.members()), new Set([second, third]));
  assert.equal(roster.delete(third), true);
  assert.equal(roster.delete(second), true);
  assert.equal(roster.size, 0);
});

it("a roster ignores unknown and removed members, and can add removed ones again", () => {
  const roster = new Roster();
  const [one, other] = [member(), member()];
  roster.add(one);
  assert.equal(roster.delete(other), false);
  assert.equal(roster.delete(one), true);
  assert.equal(roster.delete(one), false);
  roster.add(one);
  assert.deepEqual(roster.members(), [one]);
});
