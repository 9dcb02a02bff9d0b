import assert from "node:assert/strict";
import { it } from "node:test";
import { UnreadRest } from "./unread-rest.ts";

it("D2: the rest of an answered request is read until 5 s of silence, 30 s in all, or 64 MiB", () => {
  const rest = new UnreadRest(1_000);
  assert.equal(rest.expiresAt, 6_000);
  assert.ok(rest.drop(1, 5_000));
  assert.equal(rest.expiresAt, 10_000);
  assert.ok(rest.drop(1, 29_000));
  assert.equal(rest.expiresAt, 31_000);
  assert.ok(rest.drop(64 * 1024 * 1024 - 2, 29_000));
  assert.equal(rest.drop(1, 29_000), false);
});
