import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LabelledIds } from "./labelled-ids.ts";

function counted() {
  const made: string[] = [];
  const ids = new LabelledIds((request, ordinal) => {
    const id = `${request}-${ordinal}`;
    made.push(id);
    return id;
  });
  return { ids, made };
}
const free = (): boolean => false;

describe("the ids of labelled tunnels", () => {
  it("D9: ids of many tunnels with the same labels cost two codes each, regardless of their number", () => {
    const { ids, made } = counted();
    const given = new Set<string>();
    for (let count = 0; count < 2_000; count += 1) given.add(ids.take("web", (id) => given.has(id)));
    assert.equal(given.size, 2_000);
    assert.ok(made.length <= 4_000, `${made.length} codes`);
  });

  it("ids of one request have the same order, and the lowest free one is used first", () => {
    const { ids } = counted();
    assert.deepEqual(
      [1, 2, 3, 4].map(() => ids.take("web", free)),
      ["web-0", "web-1", "web-2", "web-3"],
    );
    assert.equal(ids.take("api", free), "api-0");
    for (const id of ["web-2", "web-1", "unknown", "web-1"]) ids.release(id);
    assert.deepEqual(
      [1, 2, 3].map(() => ids.take("web", free)),
      ["web-1", "web-2", "web-4"],
    );
    for (const id of ["web-0", "web-1", "web-2", "web-3", "web-4"]) ids.release(id);
    assert.equal(ids.take("web", free), "web-0");
  });

  it("ids in use elsewhere in the session are skipped", () => {
    const { ids } = counted();
    assert.equal(
      ids.take("web", (id) => id === "web-0" || id === "web-1"),
      "web-2",
    );
    assert.equal(ids.take("web", free), "web-3");
  });
});
