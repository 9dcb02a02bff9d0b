import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { answering, eventually, ok, withFront } from "../support/front.ts";
import type { Answerer, Front } from "../support/front.ts";
import { sendUntilClosed, uploadRefused } from "../support/refused-upload.ts";
import { skipWithout } from "../support/programs.ts";

const get = "GET / HTTP/1.1\r\nHost: a.example.com\r\n\r\n";
const upgrade =
  "GET /chat HTTP/1.1\r\nHost: a.example.com\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n" +
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
const switched =
  "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";

const nobody: Answerer = () => {};

async function accepted(front: Front, count = 1): Promise<void> {
  await eventually(() => front.context.connections.size === count);
}

describe("a client that is slow", () => {
  it("D2: a client that is slow with its first byte is closed", async () => {
    await withFront(answering(ok("x")), {}, async (front, client) => {
      await accepted(front);
      front.clock.pass(9_000);
      assert.equal(client.isEnded, false);
      front.clock.pass(2_000);
      assert.equal(await client.untilEnd(), "");
    });
  });

  it("D2: a client that is slow with its head is answered 408 and closed, however steadily it trickles", async () => {
    await withFront(answering(ok("x")), {}, async (front, client) => {
      await accepted(front);
      client.send("GET / HTTP/1.1\r\n");
      for (let second = 0; second < 12 && !client.isEnded; second += 1) {
        client.send(`X-${second}: a\r\n`);
        await turns();
        front.clock.pass(1_000);
      }
      assert.match(await client.untilEnd(), new RegExp(String.raw`^HTTP/1\.1 408 [^]*${errorCode("request_timeout")}`));
      assert.equal(front.upstream.connections.length, 0);
    });
  });

  it("D2: a client that is slow with its body is answered 408 and closed", async () => {
    await withFront(
      () => {},
      {},
      async (front, client) => {
        client.send("POST / HTTP/1.1\r\nHost: a.example.com\r\nContent-Length: 1000\r\n\r\n");
        for (let second = 0; second < 24 && !client.isEnded; second += 1) {
          client.send("x");
          await turns();
          front.clock.pass(1_000);
        }
        assert.match(await client.untilEnd(), /^HTTP\/1\.1 408 /);
        await eventually(() => front.pool.outstanding === 0);
      },
    );
  });

  it("a client that is slow with its body, but fast enough, is not", async () => {
    await withFront(answering(ok("done")), {}, async (front, client) => {
      client.send("POST / HTTP/1.1\r\nHost: a.example.com\r\nContent-Length: 4000\r\n\r\n");
      for (let second = 0; second < 40; second += 1) {
        client.send("x".repeat(100));
        await eventually(
          () =>
            (front.upstream.connections[0]?.seen.split("\r\n\r\n")[1]?.length ?? 0) ===
              Math.min(3900, (second + 1) * 100) || client.received !== "",
        );
        front.clock.pass(1_000);
      }
      assert.match(await client.until("done"), /^HTTP\/1\.1 200 /);
    });
  });

  it("D2: a client that is slow in reading its response is cut off", async () => {
    const size = 256 * 1024 * 1024;
    const answer: Answerer = ({ socket }) => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${size}\r\n\r\n`);
      socket.write(Buffer.alloc(size));
    };
    await withFront(answer, {}, async (front, client) => {
      client.socket.pause();
      client.send(get);
      await eventually(() => front.context.counters.bytesOut > 1024 * 1024);
      let last = -1;
      while (last !== front.context.counters.bytesOut) {
        last = front.context.counters.bytesOut;
        await turns();
      }
      front.clock.pass(61_000);
      await eventually(() => front.finished.length === 1);
      assert.equal(front.finished[0]?.cutShort, true);
      assert.equal(front.context.connections.size, 0);
    });
  });

  it("D2: a client that is slow between requests is disconnected after the keep-alive time", async () => {
    await withFront(answering(ok("x")), {}, async (front, client) => {
      await client.send(get).until("\r\n\r\nx");
      front.clock.pass(74_000);
      await client.clear().send(get).until("\r\n\r\nx");
      front.clock.pass(76_000);
      await client.untilEnd();
      assert.equal(front.context.connections.size, 0);
    });
  });
});

for (const [direction, stepMs] of [
  ["on", 3_600_000],
  ["back", -3_600_000],
] as const) {
  describe(`a wall clock that is set ${direction} by an hour`, () => {
    it(`S7: a wall clock set ${direction} by an hour neither closes nor preserves connections`, async () => {
      await withFront(answering(ok("x")), {}, async (front, client) => {
        const slow = front.connect().send("GET / HTTP/1.1\r\n");
        await client.send(get).until("\r\n\r\nx");
        await accepted(front, 2);
        front.clock.step(stepMs);
        front.clock.pass(9000);
        await client.clear().send(get).until("\r\n\r\nx");
        front.clock.pass(2000);
        assert.match(await slow.untilEnd(), /^HTTP\/1\.1 408 /);
        front.clock.step(stepMs);
        front.clock.pass(72_000);
        await client.clear().send(get).until("\r\n\r\nx");
        front.clock.pass(76_000);
        await client.untilEnd();
      });
    });

    it(`S7: a wall clock set ${direction} by an hour does not change how long requests wait for an upstream`, async () => {
      await withFront(
        () => {},
        { limits: { upstreamTimeoutMs: 60_000 } },
        async (front, client) => {
          client.send(get);
          await eventually(() => front.upstream.connections.length === 1);
          await eventually(() => front.upstream.connections[0]?.seen !== "");
          front.clock.step(stepMs);
          front.clock.pass(55_000);
          await new Promise(setImmediate);
          assert.equal(client.received, "");
          front.clock.pass(10_000);
          assert.match(await client.until("\r\n\r\n"), /^HTTP\/1\.1 504 /);
        },
      );
    });
  });
}

describe("a connection", () => {
  it("D2: a connection is closed behind a response once it is old", async () => {
    await withFront(answering(ok("x")), { limits: { maxConnectionAgeMs: 100_000 } }, async (front, client) => {
      for (let round = 0; round < 2; round += 1) {
        assert.doesNotMatch(await client.clear().send(get).until("\r\n\r\nx"), /Connection: close/);
        front.clock.pass(60_000);
      }
      assert.match(await client.clear().send(get).untilEnd(), /\r\nConnection: close\r\n/);
    });
  });

  it("S5: a draining connection finishes its request, announces the close, and closes; an idle one closes immediately", async () => {
    let release = (): void => {};
    const answer: Answerer = ({ socket, seen }) => {
      if (seen.includes("/slow")) release = () => void socket.write(ok("finished"));
      else socket.write(ok("x"));
    };
    await withFront(answer, {}, async (front, client) => {
      const idle = front.connect();
      await idle.send(get).until("\r\n\r\nx");
      client.send(get.replace("/", "/slow"));
      await eventually(() => front.upstream.connections.some(({ seen }) => seen.includes("/slow")));
      for (const connection of front.context.connections.members()) connection.drain();
      await idle.untilEnd();
      assert.equal(client.isEnded, false);
      release();
      assert.match(await client.untilEnd(), /\r\nConnection: close\r\n[^]*finished$/);
    });
  });

  it("W7: a body over the limit gets 413, by its declared length or as it arrives", async () => {
    await withFront(
      () => {},
      { limits: { maxBodyBytes: 1000 } },
      async (front, client) => {
        const head = "POST / HTTP/1.1\r\nHost: a.example.com\r\n";
        assert.match(await client.send(`${head}Content-Length: 1001\r\n\r\n`).untilEnd(), /^HTTP\/1\.1 413 /);
        assert.equal(front.upstream.connections.length, 0);
        const chunk = `1f4\r\n${"x".repeat(500)}\r\n`;
        const other = front.connect().send(`${head}Transfer-Encoding: chunked\r\n\r\n${chunk}${chunk}${chunk}`);
        assert.match(await other.untilEnd(), /^HTTP\/1\.1 413 /);
      },
    );
  });

  it(
    "a client whose upload is refused sees the answer: 20 of 20 uploads of 9 MB by curl",
    { timeout: 120_000, skip: skipWithout("curl") },
    async () => {
      await withFront(nobody, { limits: { maxBodyBytes: 1000 } }, async ({ port }) => {
        const options = ["-H", "Host: a.example.com", "-o", "/dev/null"];
        const seen = await uploadRefused(20, { url: `http://127.0.0.1:${port}/`, byteCount: 9_000_000, options });
        assert.deepEqual(seen, Array<string>(20).fill(" 413 0"));
      });
    },
  );

  it("D2: a client whose upload is refused is cut off after 5 silent seconds, or 64 MiB", async () => {
    const head = "POST / HTTP/1.1\r\nHost: a.example.com\r\nContent-Length: 999999999\r\n\r\n";
    await withFront(nobody, { limits: { maxBodyBytes: 1000 } }, async ({ context, clock, connect }, silent) => {
      assert.match(await silent.send(head).untilEnd(), /^HTTP\/1\.1 413 /);
      assert.equal(context.counters.openConnections, 1);
      clock.pass(5_000);
      assert.equal(context.counters.openConnections, 0);
      const much = connect().send(head);
      await much.untilEnd();
      const sent = await sendUntilClosed(much.socket);
      assert.ok(sent > 64 && sent < 128, `${sent} MiB`);
      await eventually(() => context.counters.openConnections === 0);
    });
  });

  it("a pipelining connection gets responses in request order, whatever the number of requests", async () => {
    const targets = Array.from({ length: 2_000 }, (_, at) => `/${at}`);
    const echo = answering((request) => ok(`${/^GET (\S+)/.exec(request)?.[1]};`));
    await withFront(echo, {}, async (_front, client) => {
      client.send(targets.map((target) => get.replace("/", target)).join(""));
      const received = await client.until("/1999;");
      assert.deepEqual(received.match(/\/\d+(?=;)/g), targets);
    });
  });

  it("a connection that pipelines more than it is answered stops being read", async () => {
    await withFront(
      () => {},
      {},
      async (front, client) => {
        const size = 64 * 1024 * 1024;
        client.send(get).send(Buffer.alloc(size, "x"));
        await eventually(() => front.upstream.connections[0]?.seen !== undefined);
        for (let round = 0; round < 20; round += 1) await turns();
        assert.ok(client.socket.writableLength > 0, "everything was read");
      },
    );
  });
});

it("D3: a client that sends requests without reading responses is not served endlessly", async () => {
  let served = 0;
  const body = "x".repeat(1024 * 1024);
  const answer = answering(() => {
    served += 1;
    return ok(body);
  });
  await withFront(answer, {}, async (front, client) => {
    client.socket.pause();
    client.send(get.repeat(2000));
    await eventually(() => served > 0);
    let last = -1;
    while (last !== served) {
      last = served;
      for (let round = 0; round < 20; round += 1) await turns();
    }
    assert.ok(served < 100, `${served} responses of 1 MiB were taken from the upstream`);
    assert.equal(front.context.connections.size, 1);
  });
});

it("D3: a client that sends requests without reading responses is not served endlessly, even if the edge makes every response", async () => {
  await withFront(answering(ok("x")), {}, async (front, client) => {
    client.socket.pause();
    client.send("GET /nowhere HTTP/1.1\r\nHost: a.example.com\r\n\r\n".repeat(100_000));
    await eventually(() => front.finished.length > 0);
    let last = -1;
    while (last !== front.finished.length) {
      last = front.finished.length;
      for (let round = 0; round < 20; round += 1) await turns();
    }
    assert.ok(last < 50_000, `${last} answers were made`);
    client.socket.resume();
    await eventually(() => front.finished.length === 100_000);
  });
});

describe("a WebSocket", () => {
  it("W6: a WebSocket carries bytes both ways, including those that arrived with the 101", async () => {
    const answer: Answerer = (connection) => {
      if (connection.seen.endsWith("\r\n\r\n")) connection.socket.write(`${switched}first frame`);
      else if (connection.seen.endsWith("ping")) connection.socket.write(Buffer.from([0x82, 0x00, 0xff, 0x0a]));
    };
    await withFront(answer, {}, async (front, client) => {
      const received = await client.send(upgrade).until("first frame");
      assert.match(
        received,
        /^HTTP\/1\.1 101 Switching Protocols\r\n(?:[^\r]+\r\n)*Connection: Upgrade\r\nUpgrade: websocket\r\n\r\nfirst frame$/,
      );
      assert.match(received, /Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=/);
      assert.match(
        front.upstream.connections[0]?.seen as string,
        /\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n$/,
      );
      client.clear().send("\0\x01ping");
      await client.until("\n");
      assert.equal(client.received, "\x82\x00\xff\n");
      assert.ok(front.upstream.connections[0]?.seen.endsWith("\0\x01ping"));
    });
  });

  it("W6: frames that the client sent with its request stay in order", async () => {
    const answer: Answerer = (connection) => {
      if (connection.seen.endsWith("\r\n\r\n")) connection.socket.write(switched);
    };
    await withFront(answer, {}, async (front, client) => {
      client.send(`${upgrade}early`);
      await client.until("\r\n\r\n");
      client.send(" late");
      await eventually(() => front.upstream.connections[0]?.seen.endsWith("early late") === true);
    });
  });

  it("a WebSocket still sends to the upstream after the upstream has ended its direction", async () => {
    const answer: Answerer = (connection) => {
      if (connection.seen.endsWith("\r\n\r\n")) connection.socket.end(`${switched}bye`);
    };
    await withFront(answer, {}, async (front, client) => {
      assert.match(await client.send(upgrade).untilEnd(), /bye$/);
      client.send("one more");
      await eventually(() => front.upstream.connections[0]?.seen.endsWith("one more") === true);
      client.socket.end();
      await eventually(() => front.finished.length === 1);
      assert.equal(front.finished[0]?.cutShort, false);
    });
  });

  it("a WebSocket ends each direction separately", async () => {
    const answer: Answerer = (connection) => {
      if (connection.seen.endsWith("\r\n\r\n")) connection.socket.write(switched);
    };
    await withFront(answer, {}, async (front, client) => {
      await client.send(upgrade).until("\r\n\r\n");
      const [upstream] = front.upstream.connections;
      client.socket.end("bye");
      await eventually(() => upstream?.socket.readableEnded === true);
      assert.ok(upstream?.seen.endsWith("bye"));
      upstream?.socket.end("last");
      assert.match(await client.untilEnd(), /last$/);
      await eventually(() => front.finished.length === 1);
      assert.deepEqual([front.finished[0]?.status, front.finished[0]?.cutShort], [101, false]);
      assert.equal(front.pool.outstanding, 0);
    });
  });

  it("a WebSocket is not limited like a request: not in time, rate or size", async () => {
    const answer: Answerer = (connection) => {
      if (connection.seen.endsWith("\r\n\r\n")) connection.socket.write(switched);
      if (connection.seen.endsWith("x")) connection.socket.write("still here");
    };
    await withFront(answer, { limits: { maxBodyBytes: 10 } }, async (front, client) => {
      await client.send(upgrade).until("\r\n\r\n");
      front.clock.pass(600_000);
      await client.send("x".repeat(1000)).until("still here");
    });
  });

  it("D2: a WebSocket on which nothing moves for an hour is cut", async () => {
    const answer: Answerer = (connection) => {
      if (connection.seen.endsWith("\r\n\r\n")) connection.socket.write(switched);
    };
    await withFront(answer, {}, async (front, client) => {
      await client.send(upgrade).until("\r\n\r\n");
      front.clock.pass(3_700_000);
      await client.untilEnd();
      await eventually(
        () =>
          front.upstream.connections[0]?.socket.readableEnded === true ||
          front.upstream.connections[0]?.socket.closed === true,
      );
    });
  });

  for (const [what, response] of [
    ["another protocol", switched.replace("websocket", "h2c")],
    ["no Upgrade", switched.replace("Upgrade: websocket\r\n", "")],
    ["no Connection: Upgrade", switched.replace("Connection: Upgrade\r\n", "")],
    ["no Sec-WebSocket-Accept", switched.replace(/Sec-WebSocket-Accept: .*\r\n/, "")],
    ["another key's Sec-WebSocket-Accept", switched.replace("s3pPLM", "s3pPLm")],
    ["two Sec-WebSocket-Accept", switched.replace(/(Sec-WebSocket-Accept: .*\r\n)/, "$1$1")],
    ["two protocols", switched.replace("Upgrade: websocket", "Upgrade: websocket, foo")],
  ] as const) {
    it(`W5: a 101 with ${what} becomes 502`, async () => {
      await withFront(answering(response), {}, async (_front, client) => {
        assert.match(await client.send(upgrade).until(errorCode("upstream_invalid")), /^HTTP\/1\.1 502 /);
      });
    });
  }

  it("a WebSocket that the upstream declines is an ordinary response", async () => {
    await withFront(answering(ok("no")), {}, async (_front, client) => {
      await client.send(upgrade).until("\r\n\r\nno");
      await client.clear().send(get).until("\r\n\r\nno");
    });
  });
});

/** Lets pending loopback traffic arrive. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
