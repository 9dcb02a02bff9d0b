import assert from "node:assert/strict";
import { it } from "node:test";
import { newConnectionId, newRequestId, trafficIdLength } from "./traffic-ids.ts";

const kinds = [
  { what: "request", make: (nowMs: number) => newRequestId(nowMs).text, form: /^req_[0-9a-z]{27}$/ },
  { what: "connection", make: newConnectionId, form: /^con_[0-9a-z]{27}$/ },
];
for (const { what, make, form } of kinds) {
  it(`${what} ids have the form of all ids, sort by time, and differ`, () => {
    const ids = Array.from({ length: 5000 }, (_, index) => make(1_800_000_000_000 + Math.floor(index / 1000)));
    assert.equal(new Set(ids).size, ids.length);
    for (const id of ids) assert.match(id, form);
    assert.ok((ids[0] as string) < (ids[4999] as string));
  });
}

it("a request id has the same bytes and text, even after many others", () => {
  const ids = Array.from({ length: 2000 }, () => newRequestId(1_800_000_000_000));
  const target = Buffer.alloc(trafficIdLength + 2);
  for (const id of ids) {
    assert.equal(id.write(target, 1), 1 + trafficIdLength);
    assert.equal(target.latin1Slice(1, 1 + trafficIdLength), id.text);
  }
});
