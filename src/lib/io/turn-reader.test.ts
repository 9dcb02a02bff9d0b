import assert from "node:assert/strict";
import { Duplex } from "node:stream";
import type { Socket } from "node:net";
import { describe, it } from "node:test";
import { collectGarbage } from "../../../test/support/garbage.ts";
import { readInTurns } from "./turn-reader.ts";
import type { SocketReader } from "./turn-reader.ts";

/** Returns a stream with scripted output. */
function speaking(): Duplex {
  return new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() });
}

/** Passes on incoming data, and records each end by its event. */
function reader(receive: (bytes: Buffer) => void, note: (event: string) => void = () => {}): SocketReader {
  return {
    receive,
    drained: () => note("drain"),
    ended: () => note("end"),
    failed: () => note("error"),
    broke: () => note("broke"),
    closed: () => note("close"),
  };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("a socket that is read in turns", () => {
  it("a socket that is read in turns returns its data in order, after all input of the turn has arrived", async () => {
    const socket = speaking();
    const taken: string[] = [];
    readInTurns(
      socket as Socket,
      reader((bytes) => taken.push(bytes.toString())),
    );
    await turn();
    socket.push("one");
    socket.push("two");
    assert.deepEqual(taken, []);
    await turn();
    assert.deepEqual(taken, ["one", "two"]);
  });

  for (const [event, ends, told] of [
    ["end", (socket: Duplex) => socket.push(null), ["end"]],
    ["close", (socket: Duplex) => socket.destroy(), ["close"]],
    ["error", (socket: Duplex) => socket.destroy(new Error("reset")), ["error", "close"]],
  ] as const) {
    it(`a socket that is read in turns has returned all earlier data before its "${event}"`, async () => {
      const socket = speaking();
      const seen: string[] = [];
      const note = (what: string): void => void seen.push(what);
      readInTurns(
        socket as Socket,
        reader((bytes) => note(bytes.toString()), note),
      );
      await turn();
      socket.push("the last of it");
      ends(socket);
      await turn();
      await turn();
      assert.deepEqual(seen, ["the last of it", ...told]);
    });
  }

  it("a socket that is read in turns releases its reader when it has closed, and does not stay referenced", async () => {
    const socket = speaking();
    const told: string[] = [];
    const readers = [
      new WeakRef(
        reader(
          () => {},
          (what) => told.push(what),
        ),
      ),
    ];
    readInTurns(socket as Socket, readers[0]?.deref() as SocketReader);
    await turn();
    collectGarbage();
    assert.notEqual(readers[0]?.deref(), undefined);
    socket.destroy();
    await turn();
    await turn();
    collectGarbage();
    assert.equal(readers[0]?.deref(), undefined);
    assert.deepEqual(told, ["close"]);
    assert.equal(socket.destroyed, true);
  });

  it("a socket that is read in turns notifies its reader when it can be written again", async () => {
    const taken: (() => void)[] = [];
    const socket = new Duplex({
      read() {},
      highWaterMark: 4,
      write: (_chunk, _encoding, done) => void taken.push(done),
    });
    const told: string[] = [];
    readInTurns(
      socket as Socket,
      reader(
        () => {},
        (what) => told.push(what),
      ),
    );
    assert.equal(socket.write("more than four"), false);
    assert.deepEqual(told, []);
    taken.shift()?.();
    await turn();
    assert.deepEqual(told, ["drain"]);
  });

  it("D1: a socket that is read in turns buffers at most 64 KiB until its turn", async () => {
    const socket = speaking();
    let taken = 0;
    readInTurns(
      socket as Socket,
      reader((bytes) => (taken += bytes.length)),
    );
    await turn();
    for (let at = 0; at < 8; at += 1) socket.push(Buffer.alloc(16 * 1024));
    assert.equal(taken, 80 * 1024);
    await turn();
    assert.equal(taken, 128 * 1024);
  });
});
