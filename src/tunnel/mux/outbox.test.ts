/** Data that waits for an agent that does not read. */
import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { Writable } from "node:stream";
import { describe, it } from "node:test";
import { frameType } from "./frame.ts";
import { Outbox } from "./outbox.ts";

describe("the outbox of a tunnel connection", () => {
  it("D3: the outbox of a tunnel connection has the same limits for many small pieces as for few large ones", async () => {
    let release = (): void => {};
    const socket = new Writable({ writev: (_chunks, done) => void (release = done) });
    const outbox = new Outbox(socket as unknown as Socket, () => {});
    const jammedAfter = async (isFull: () => boolean): Promise<number> => {
      for (let turns = 1; ; turns += 1) {
        outbox.control(frameType.windowIncrement, 1, 1);
        outbox.send();
        if (isFull()) return turns;
        assert.ok(turns < 100_000, "any number of pieces waits");
      }
    };
    assert.equal(await jammedAfter(() => outbox.jammed), 2048);
    assert.equal(await jammedAfter(() => outbox.flooded), 7 * 2048);
    release();
    await new Promise(setImmediate);
    release();
    await new Promise(setImmediate);
    assert.equal(outbox.jammed, false);
  });
});
