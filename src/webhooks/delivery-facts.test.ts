import assert from "node:assert/strict";
import { it } from "node:test";
import { deliveryFacts } from "./delivery-facts.ts";

it("the facts of a delivery hold no text that PostgreSQL cannot store", () => {
  const headers = { getAll: () => [] } as unknown as Parameters<typeof deliveryFacts>[1]["headers"];
  const typeOf = (text: string): string => deliveryFacts("", { headers, body: Buffer.from(text) }).eventType;
  assert.equal(typeOf(String.raw`{"type":"push"}`), "push");
  assert.equal(typeOf(String.raw`{"type":"pu\u0000sh","event":"next"}`), "next");
  assert.equal(typeOf(String.raw`{"type":"\ud800"}`), "");
});
