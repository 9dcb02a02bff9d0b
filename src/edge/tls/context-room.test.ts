import assert from "node:assert/strict";
import { it } from "node:test";
import { contextRoom } from "./context-room.ts";

const gib = 1024 ** 3;

it("TLS contexts are kept for sixteen thousand hosts where there are 8 GiB, and for two thousand wherever a server runs", () => {
  assert.equal(contextRoom(8 * gib), 16_384);
  assert.equal(contextRoom(gib / 2), 2000);
  assert.ok(contextRoom() >= 2000);
});
