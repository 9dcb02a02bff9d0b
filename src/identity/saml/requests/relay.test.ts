import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { makeRelay, maxRelayHost, readRelay, requestIdOf } from "./relay.ts";

const key = Buffer.alloc(32, 1);
const to = { purpose: "login", routeId: "edghtsrt_1" } as const;
const flowId = "A".repeat(22);
const sentMs = Date.UTC(2027, 2, 4, 5, 6, 7, 890);

describe("RelayState", () => {
  it("comes back as it was sent, in 80 bytes at most, until 2088", () => {
    for (const host of ["a", "abc123", "feature-1.preview", "x".repeat(maxRelayHost)]) {
      for (const time of [Date.UTC(2026, 0), sentMs, Date.UTC(2088, 0)]) {
        const text = makeRelay({ flowId, host, sentMs: time }, to, key);
        assert.ok(Buffer.byteLength(text) <= 80);
        assert.equal(encodeURIComponent(text), text);
        assert.deepEqual(readRelay(text, to, [Buffer.alloc(32), key]), {
          flowId,
          host,
          sentMs: Math.floor(time / 1000) * 1000,
          requestId: requestIdOf(flowId, to, key),
        });
      }
    }
  });

  it("RelayState is not made of what does not fit", () => {
    for (const wrong of [
      { host: "x".repeat(maxRelayHost + 1) },
      { host: "" },
      { host: "A" },
      { flowId: "short" },
      { sentMs: Date.UTC(2019, 0) },
      { sentMs: Date.UTC(2099, 0) },
    ]) {
      assert.throws(() => makeRelay({ flowId, host: "a", sentMs, ...wrong }, to, key), /RelayState/);
    }
  });

  it("I4: RelayState gives no request id to who does not have the key, and another for each flow, route and purpose", () => {
    const ids = [
      requestIdOf(flowId, to, key),
      requestIdOf(flowId, to, Buffer.alloc(32, 2)),
      requestIdOf("B".repeat(22), to, key),
      requestIdOf(flowId, { ...to, routeId: "edghtsrt_2" }, key),
      requestIdOf(flowId, { ...to, purpose: "logout" }, key),
    ];
    assert.equal(new Set(ids).size, ids.length);
    for (const id of ids) assert.match(id, /^_[0-9a-f]{64}$/);
  });
});
