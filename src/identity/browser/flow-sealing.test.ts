import assert from "node:assert/strict";
import { createSecretKey, randomBytes } from "node:crypto";
import { describe, it } from "node:test";
import { makeFlowSealer } from "./flow-sealing.ts";
import type { FlowKey } from "./flow-sealing.ts";

const newKey = (createdAt: number): FlowKey => ({
  id: `key_${createdAt}`,
  key: createSecretKey(randomBytes(32)),
  createdAt,
});

describe("sealed login data", () => {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

  it("I2: sealed login data opens only with the same binding", () => {
    const sealer = makeFlowSealer();
    sealer.use([newKey(1)]);
    const sealed = sealer.seal("content", "app.example.com cookie");
    assert.equal(sealer.open(sealed, "app.example.com cookie"), "content");
    for (const about of ["", "app.example.com", "app.example.com cookie ", "other.example.com cookie", "login state"]) {
      assert.equal(sealer.open(sealed, about), undefined, about);
    }
    assert.notEqual(sealer.seal("content", "x"), sealer.seal("content", "x"));
  });

  it("I2: sealed login data does not open after any change", () => {
    const sealer = makeFlowSealer();
    sealer.use([newKey(1)]);
    const sealed = sealer.seal("content!", "x");
    for (let at = 0; at < sealed.length; at += 1) {
      for (const one of alphabet) {
        if (one === sealed[at]) continue;
        assert.equal(sealer.open(sealed.slice(0, at) + one + sealed.slice(at + 1), "x"), undefined, `${at} ${one}`);
      }
      assert.equal(sealer.open(sealed.slice(0, at) + sealed.slice(at + 1), "x"), undefined, String(at));
    }
    for (const more of ["A", "=", " ", "\n", "%3D", "."]) {
      assert.equal(sealer.open(sealed + more, "x"), undefined, JSON.stringify(more));
    }
    for (const text of ["", "A", "A".repeat(38), "A".repeat(40)]) assert.equal(sealer.open(text, "x"), undefined);
  });

  it("I2: sealed login data opens while its key is one of the newest three", () => {
    const sealer = makeFlowSealer();
    const keys = [1, 2, 3, 4].map(newKey);
    sealer.use(keys.slice(0, 1));
    const sealed = sealer.seal("content", "x");
    sealer.use(keys.slice(0, 3));
    assert.equal(sealer.open(sealed, "x"), "content");
    sealer.use(keys);
    assert.equal(sealer.open(sealed, "x"), undefined);
  });
});
