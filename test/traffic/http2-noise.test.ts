/** Frames by chance: legal ones in any order, illegal ones, single bytes changed, connections cut anywhere. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { h2Request, h2Session } from "../support/h2-client.ts";
import { block, frame, preface, RawH2, settings, types, uint32 } from "../support/h2-frames.ts";
import { startH2Server } from "../support/h2-server.ts";
import type { H2Server } from "../support/h2-server.ts";
import { seededRandom } from "../support/random.ts";
import type { Random } from "../support/random.ts";

const rounds = 60;

let server: H2Server;
before(async () => {
  server = await startH2Server();
});
after(() => server.stop());

function noise(random: Random, length: number): Buffer {
  return Buffer.from(Array.from({ length }, () => random.below(256)));
}

function headers(random: Random, id: number): Buffer {
  const path = random() < 0.1 ? "x".repeat(random.below(300)) : "/";
  const fields: [string, string][] = [
    [":method", random.pick(["GET", "POST", "CONNECT"])],
    [":scheme", "https"],
    [":authority", "app.example.com"],
    [":path", path],
  ];
  if (random() < 0.3) fields.push(["content-length", String(random.below(20))]);
  return frame(types.headers, random.pick([4, 5, 1, 0]), id, block(fields, random.pick([0, 0x10, 0x40])));
}

function anyFrame(random: Random, next: number): Buffer {
  const id = random() < 0.7 ? Math.max(1, next - 2 * random.below(4)) : random.below(50);
  switch (random.below(9)) {
    case 0:
      return frame(types.data, random.below(16), id, noise(random, random.below(200)));
    case 1:
      return frame(types.windowUpdate, 0, random.pick([0, id]), uint32(random.below(2 ** 31)));
    case 2:
      return frame(types.rstStream, 0, id, uint32(random.below(15)));
    case 3:
      return frame(types.settings, random.below(2), 0, settings([random.below(10), random.below(2 ** 32)]));
    case 4:
      return frame(types.continuation, random.below(8), id, noise(random, random.below(50)));
    case 5:
      return frame(random.below(256), random.below(256), id, noise(random, random.below(60)));
    default:
      return headers(random, next);
  }
}

describe("an HTTP/2 server under noise", () => {
  for (const seed of [1, 2, 3]) {
    it(`an HTTP/2 server under noise stays upright and forgets every connection, seed ${seed}`, async () => {
      const random = seededRandom(seed);
      for (let round = 0; round < rounds; round += 1) {
        const raw = await RawH2.connect(server);
        const count = 1 + random.below(40);
        const frames = Array.from({ length: count }, (_, index) => anyFrame(random, 2 * index + 1));
        const bytes = Buffer.concat([preface, frame(types.settings, 0, 0), ...frames]);
        if (random() < 0.5) bytes[random.below(bytes.length)] = random.below(256);
        const end = random() < 0.3 ? random.below(bytes.length) : bytes.length;
        for (let at = 0; at < end;) {
          const next = Math.min(end, at + 1 + random.below(400));
          raw.socket.write(bytes.subarray(at, next));
          at = next;
          if (random() < 0.2) await new Promise(setImmediate);
        }
        raw.socket.end();
        raw.socket.resume();
        await raw.closed();
      }
      const session = await h2Session(server);
      assert.equal(String((await h2Request(session, { ":path": "/" })).body), "hello");
      session.destroy();
      while (server.context.connections.size > 0) await new Promise(setImmediate);
      assert.equal(server.context.counters.openConnections, 0);
      assert.equal(server.context.counters.openExchanges, 0);
    });
  }
});
