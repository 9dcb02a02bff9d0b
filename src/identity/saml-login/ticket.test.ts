import assert from "node:assert/strict";
import { createSecretKey } from "node:crypto";
import { describe, it } from "node:test";
import { makeFlowSealer } from "../sealing.ts";
import type { SamlIdentity } from "../saml/response/work.ts";
import { openTicket, sealTicket } from "./ticket.ts";

const sealer = makeFlowSealer();
sealer.use([{ id: "key_1", key: createSecretKey(Buffer.alloc(32, 7)), createdAt: 1 }]);
const now = Date.UTC(2026, 0, 2);
const ada = {
  nameId: "ada",
  email: "ada@example.com",
  name: "Ada",
  groups: ["staff"],
  sessionIndex: "s1",
  authnInstantMs: now - 1_000,
} as unknown as SamlIdentity;
const made = (identity = ada, authorized: readonly string[] = []): string =>
  sealTicket({ id: "f".repeat(22), url: "" }, { identity, authorized, routeId: "edghtsrt_1" }, { sealer, nowMs: now });

describe("a ticket of a login by SAML", () => {
  it("I4: a ticket of a login by SAML is good for a minute, whichever clock is ahead, at its own route, and as it is", () => {
    const text = made();
    for (const [routeId, nowMs, isGood] of [
      ["edghtsrt_1", now, true],
      ["edghtsrt_1", now + 60_000, true],
      ["edghtsrt_1", now - 60_000, true],
      ["edghtsrt_1", now + 60_001, false],
      ["edghtsrt_1", now - 60_001, false],
      ["edghtsrt_2", now, false],
    ] as const) {
      assert.equal(openTicket(text, routeId, sealer, nowMs) !== undefined, isGood, `${routeId} ${nowMs - now}`);
    }
    assert.equal(openTicket(`${text}A`, "edghtsrt_1", sealer, now), undefined);
    assert.equal(openTicket("A".repeat(18_001), "edghtsrt_1", sealer, now), undefined);
    assert.equal(openTicket("", "edghtsrt_1", sealer, now), undefined);
  });

  it("a ticket of a login by SAML has the groups that the route names first, and as many others as there is room for", () => {
    const groups = Array.from({ length: 1_000 }, (_, at) => `group-${at}`);
    const opened = openTicket(made({ ...ada, groups }, ["group-999", "group-500"]), "edghtsrt_1", sealer, now);
    assert.deepEqual(new Set(opened?.groups.slice(0, 2)), new Set(["group-500", "group-999"]));
    const count = opened?.groups.length ?? 0;
    assert.ok(count > 500 && count < 1_000, String(count));
    assert.throws(() => made({ ...ada, name: "x".repeat(9_000) }), /more of the visitor than can be passed on/);
  });
});
