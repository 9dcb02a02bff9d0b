import assert from "node:assert/strict";
import { it } from "node:test";
import { UnreadRest } from "./unread-rest.ts";

it("D2: the rest of an answered request is read for 5 silent seconds, 30 in all, and up to 64 MiB", () => {
  const rest = new UnreadRest(1_000);
  assert.equal(rest.expiresAt, 6_000);
  assert.ok(rest.drop(1, 5_000));
  assert.equal(rest.expiresAt, 10_000);
  assert.ok(rest.drop(1, 29_000));
  assert.equal(rest.expiresAt, 31_000);
  assert.ok(rest.drop(64 * 1024 * 1024 - 2, 29_000));
  assert.equal(rest.drop(1, 29_000), false);
});
