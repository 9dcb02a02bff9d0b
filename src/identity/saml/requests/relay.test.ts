import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { makeRelay, maxRelayHost, readRelay, requestIdOf } from "./relay.ts";

const key = Buffer.alloc(32, 1);
const to = { purpose: "login", routeId: "edghtsrt_1" } as const;
const flowId = "A".repeat(22);
const host = "abc123";
const sentMs = Date.UTC(2027, 2, 4, 5, 6, 7, 890);

describe("RelayState", () => {
  it("returns the relay as sent, in at most 80 bytes, until 2088", () => {
    const long = `${"x".repeat(63)}.${"y".repeat(63)}.abc`;
    for (const host of [
      "a",
      "abc123",
      "feature-1.preview",
      "x".repeat(maxRelayHost),
      "x".repeat(maxRelayHost + 1),
      long,
    ]) {
      for (const time of [Date.UTC(2026, 0), sentMs, Date.UTC(2088, 0)]) {
        const text = makeRelay({ flowId, host, sentMs: time }, to, key);
        assert.ok(Buffer.byteLength(text) <= 80);
        assert.equal(encodeURIComponent(text), text);
        const id = requestIdOf({ flowId, host }, to, key);
        assert.match(id, /^[A-Za-z_][\w.-]*$/);
        const read = readRelay(text, to, [Buffer.alloc(32), key]);
        assert.deepEqual([read?.flowId, read?.sentMs], [flowId, Math.floor(time / 1000) * 1000]);
        assert.equal(read?.hostBy(id), host);
      }
    }
  });

  it("RelayState cannot be made from values that do not fit", () => {
    for (const wrong of [
      { host: "" },
      { host: "A" },
      { flowId: "short" },
      { sentMs: Date.UTC(2019, 0) },
      { sentMs: Date.UTC(2099, 0) },
    ]) {
      assert.throws(() => makeRelay({ flowId, host: "a", sentMs, ...wrong }, to, key), /RelayState/);
    }
  });

  it("I4: request ids cannot be computed without the key, and differ by flow, route and purpose", () => {
    const ids = [
      requestIdOf({ flowId, host }, to, key),
      requestIdOf({ flowId, host }, to, Buffer.alloc(32, 2)),
      requestIdOf({ flowId: "B".repeat(22), host }, to, key),
      requestIdOf({ flowId, host }, { ...to, routeId: "edghtsrt_2" }, key),
      requestIdOf({ flowId, host }, { ...to, purpose: "logout" }, key),
    ];
    assert.equal(new Set(ids).size, ids.length);
    for (const id of ids) assert.match(id, /^_[0-9a-f]{64}$/);
  });

  it("I4: RelayState yields no host for the id of another request, or for an altered id", () => {
    const long = "x".repeat(maxRelayHost + 1);
    for (const own of [host, long]) {
      const read = readRelay(makeRelay({ flowId, host: own, sentMs }, to, key), to, [key]);
      const id = requestIdOf({ flowId, host: own }, to, key);
      assert.equal(read?.hostBy(id), own);
      for (const other of [
        undefined,
        "",
        `${id}x`,
        `${id.slice(0, 65)}.${"y".repeat(maxRelayHost + 1)}`,
        requestIdOf({ flowId, host: own === host ? long : host }, to, key),
        requestIdOf({ flowId, host: "y".repeat(maxRelayHost + 1) }, to, Buffer.alloc(32, 2)),
        requestIdOf({ flowId: "B".repeat(22), host: own }, to, key),
      ]) {
        assert.equal(read?.hostBy(other), undefined, String(other));
      }
    }
  });
});
