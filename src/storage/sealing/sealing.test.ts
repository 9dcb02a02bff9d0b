import assert from "node:assert/strict";
import { it } from "node:test";
import { newDataKey, sealerWith } from "./sealing.ts";

it("K4: each sealed text has a separate initialization vector, and opens only under its own context and key", () => {
  const [first, second] = [newDataKey(), newDataKey()];
  const sealer = sealerWith([first]);
  const sealed = Array.from({ length: 1_000 }, () => sealer.seal("the same", "a field"));
  const vectors = sealed.map((one) => Buffer.from(one.slice(one.indexOf(".") + 1), "base64url").toString("hex", 0, 12));
  assert.equal(new Set(vectors).size, sealed.length);
  const both = sealerWith([first, second]);
  for (const one of sealed) assert.equal(both.open(one, "a field"), "the same");
  const [one = ""] = sealed;
  assert.throws(() => sealer.open(one, "another field"), /altered or moved/);
  assert.throws(() => sealerWith([second]).open(one, "a field"), /its data key is missing/);
  assert.equal(both.seal("new", "a field").split(".")[0], second.id);
});
