import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { phase, putOff } from "./turn.ts";

/** Records the tasks of a turn, in order. Resolves when `count` tasks have run. */
function notes(count: number): { readonly done: string[]; readonly all: Promise<void>; note: (what: string) => void } {
  const done: string[] = [];
  const { promise: all, resolve } = Promise.withResolvers<void>();
  const note = (what: string): void => {
    if (done.push(what) === count) resolve();
  };
  return { done, all, note };
}

describe("a turn of the event loop", () => {
  it("a turn of the event loop reads first, then writes tunnels, then sockets, in any order of deferral", async () => {
    const { done, all, note } = notes(5);
    for (const [what, until] of [
      ["socket 1", phase.sockets],
      ["tunnel", phase.tunnels],
      ["read 1", phase.read],
      ["socket 2", phase.sockets],
      ["read 2", phase.read],
    ] as const) {
      putOff({ turn: () => note(what) }, until);
    }
    assert.deepEqual(done, []);
    await all;
    assert.deepEqual(done, ["read 1", "read 2", "tunnel", "socket 1", "socket 2"]);
  });

  it("a turn of the event loop writes the results of its reads, including those of their promises", async () => {
    const { done, all, note } = notes(4);
    const write = { turn: () => note("written") };
    putOff({ turn: () => putOff(write, phase.sockets) }, phase.read);
    putOff(
      {
        turn() {
          note("read");
          void Promise.resolve().then(() => putOff({ turn: () => note("written behind a promise") }, phase.tunnels));
        },
      },
      phase.read,
    );
    putOff({ turn: () => note("a socket") }, phase.sockets);
    await all;
    assert.deepEqual(done, ["read", "written behind a promise", "a socket", "written"]);
  });

  it("a turn of the event loop leaves tasks deferred during or after their phase to the next one", async () => {
    const { done, all, note } = notes(4);
    const again = { turn: () => note("read again") };
    putOff(
      {
        turn() {
          note("read");
          putOff(again, phase.read);
        },
      },
      phase.read,
    );
    putOff(
      {
        turn() {
          note("written");
          putOff(again, phase.read);
        },
      },
      phase.sockets,
    );
    await all;
    assert.deepEqual(done, ["read", "written", "read again", "read again"]);
  });
});
