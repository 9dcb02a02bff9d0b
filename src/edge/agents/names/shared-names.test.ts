import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { makeManualClock } from "../../../../test/support/clock.ts";
import type { Upward } from "../../../routing/planes/messages.ts";
import type { OpenedEndpoint } from "./shared-names.ts";
import { makeSharedNames } from "./shared-names.ts";

/** Creates an edge's claims, which the test answers. */
function claims() {
  const clock = makeManualClock();
  const told: Upward[] = [];
  const names = makeSharedNames({ report: (message) => void told.push(message), wasHere: () => false, clock });
  const over: string[] = [];
  const ask = (tunnelId: string): void => {
    const endpoint = { host: `${tunnelId}.example.com`, proto: "https", site: { kind: "endpoint" } };
    const tunnel = { id: tunnelId, session: { accountId: "ac_1" }, endpoint, company: undefined };
    const opened = { tunnel, replaces: [], isFresh: false } as unknown as OpenedEndpoint;
    names.demand(opened, {})?.claim(() => over.push(tunnelId));
  };
  const dropped = (): string[] => told.flatMap((one) => (one.type === "claim_dropped" ? [one.tunnelId] : []));
  return { clock, names, ask, over, dropped };
}

describe("claims of an edge", () => {
  it("claims of an edge fail three seconds after the control plane's last answer", () => {
    const { clock, names, ask, over, dropped } = claims();
    for (const id of ["tn_1", "tn_2", "tn_3"]) ask(id);
    clock.pass(2_900);
    names.answered(1, "granted");
    clock.pass(2_900);
    assert.deepEqual([over, dropped()], [["tn_1"], []]);
    names.answered(2, "granted");
    ask("tn_4");
    clock.pass(2_999);
    assert.deepEqual(over, ["tn_1", "tn_2"]);
    clock.pass(1);
    assert.deepEqual(
      [over, dropped()],
      [
        ["tn_1", "tn_2", "tn_3", "tn_4"],
        ["tn_3", "tn_4"],
      ],
    );
    names.answered(3, "granted");
    assert.equal(over.length, 4);
    assert.equal(clock.pending, 0);
  });

  it("claims of an edge fail after fifteen seconds, even if others are answered", () => {
    const { clock, names, ask, over, dropped } = claims();
    ask("tn_0");
    for (let call = 2; call <= 8; call += 1) {
      ask(`tn_${call}`);
      clock.pass(2_000);
      names.answered(call, "granted");
    }
    assert.deepEqual(dropped(), []);
    clock.pass(1_000);
    assert.deepEqual([over.length, dropped()], [8, ["tn_0"]]);
  });
});
