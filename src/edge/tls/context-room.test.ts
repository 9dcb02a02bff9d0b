import assert from "node:assert/strict";
import { it } from "node:test";
import { contextRoom } from "./context-room.ts";

const gib = 1024 ** 3;

it("TLS contexts of sixteen thousand hosts fit into 8 GiB, and of at least two thousand on any server", () => {
  assert.equal(contextRoom(8 * gib), 16_384);
  assert.equal(contextRoom(gib / 2), 2000);
  assert.ok(contextRoom() >= 2000);
});
