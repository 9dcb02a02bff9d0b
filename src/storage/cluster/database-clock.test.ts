import assert from "node:assert/strict";
import { it } from "node:test";
import { DatabaseClock } from "./database-clock.ts";

it("the database's clock is known to half the round trip of the fastest response, in spite of slower ones", () => {
  const clock = new DatabaseClock();
  assert.equal(clock.at(5), 0);
  clock.take(100, 120, 1_000_110_000);
  clock.take(200, 201, 1_000_200_900);
  clock.take(300, 340, 1_000_301_000);
  assert.equal(clock.at(400), 1_000_400_400);
});

it("the database's clock follows a failover to another server, and a changed clock", () => {
  const clock = new DatabaseClock();
  clock.take(100, 101, 1_000_100_500);
  clock.take(200, 220, 2_000_210_000);
  assert.equal(clock.at(300), 2_000_300_000);
});
