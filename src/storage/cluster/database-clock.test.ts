import assert from "node:assert/strict";
import { it } from "node:test";
import { DatabaseClock } from "./database-clock.ts";

it("the database's clock is known to half of the quickest answer, whatever slower ones say", () => {
  const clock = new DatabaseClock();
  assert.equal(clock.at(5), 0);
  clock.take(100, 120, 1_000_110_000);
  clock.take(200, 201, 1_000_200_900);
  clock.take(300, 340, 1_000_301_000);
  assert.equal(clock.at(400), 1_000_400_400);
});

it("the database's clock is the new one where another server has taken over, or its clock was set", () => {
  const clock = new DatabaseClock();
  clock.take(100, 101, 1_000_100_500);
  clock.take(200, 220, 2_000_210_000);
  assert.equal(clock.at(300), 2_000_300_000);
});
