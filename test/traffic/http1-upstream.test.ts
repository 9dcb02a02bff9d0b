import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { describe, it } from "node:test";
import type { ByteReceiver, ByteStream } from "../../src/lib/io/byte-stream.ts";
import { errorCode } from "../../src/lib/errors.ts";
import { answering, eventually, ok, startFront, withFront } from "../support/front.ts";
import type { Answerer, Front } from "../support/front.ts";

const get = "GET / HTTP/1.1\r\nHost: a.example.com\r\n\r\n";

const invalid: readonly (readonly [what: string, response: string])[] = [
  [
    "W4: Content-Length and Transfer-Encoding",
    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
  ],
  ["W4: two Content-Length", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello"],
  ["W4: uninvited 101", "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"],
  ["W4: header splitting by a bare CR", "HTTP/1.1 200 OK\r\nX: a\rSet-Cookie: b\r\nContent-Length: 0\r\n\r\n"],
  ["W4: HTTP/0.9", "<html>hello</html>"],
  ["W4: a head too large", `HTTP/1.1 200 OK\r\nX: ${"a".repeat(40_000)}\r\n\r\n`],
];

describe("an upstream", () => {
  for (const [what, response] of invalid) {
    it(`an upstream: ${what} becomes 502, and its stream is not reused`, async () => {
      await withFront(answering(response), {}, async (front, client) => {
        client.send(get);
        const received = await client.until(errorCode("upstream_invalid"));
        if (what.includes("head too large")) {
          assert.match(await client.until("request_id"), /header is larger than 32768 bytes or 128 fields/);
        }
        assert.match(received, /^HTTP\/1\.1 502 Bad Gateway\r\n/);
        assert.doesNotMatch(received, /poisoned/);
        assert.equal(front.pool.idle, 0);
        await eventually(
          () =>
            front.upstream.connections[0]?.socket.readableEnded === true ||
            front.upstream.connections[0]?.socket.closed === true,
        );
      });
    });
  }

  it("W4: a chunked response that breaks cuts the client's response short", async () => {
    await withFront(
      answering("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n"),
      {},
      async (front, client) => {
        const received = await client.send(get).untilEnd();
        assert.match(received, /3\r\nabc\r\n$/);
        assert.equal(front.finished[0]?.cutShort, true);
      },
    );
  });

  it("W4: a response shorter than its length is cut short, never filled up", async () => {
    const answer: Answerer = ({ socket }) => void socket.end("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort");
    await withFront(answer, {}, async (front, client) => {
      const received = await client.send(get).untilEnd();
      assert.match(received, /Content-Length: 10\r\n[^]*\r\n\r\n(?:short)?$/);
      assert.equal(front.finished[0]?.cutShort, true);
      assert.equal(front.pool.idle, 0);
    });
  });

  it("W4: bytes behind the last chunk belong to no request, and its stream is not used again", async () => {
    const poisoned = `HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\npoisoned`;
    let answers = 0;
    const answer = answering(() => {
      answers += 1;
      return answers > 1 ? ok("second") : `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${poisoned}`;
    });
    await withFront(answer, {}, async (front, client) => {
      await client.send(get).until("0\r\n\r\n");
      client.clear().send(get);
      assert.doesNotMatch(await client.until("second"), /poisoned/);
      assert.equal(front.upstream.connections.length, 2);
    });
  });

  const poison = "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\npoisoned";
  const head = get.replace("GET", "HEAD");
  for (const [what, request, whole, behind] of [
    ["a line end", get, ok("ok\n"), "\r\n"],
    ["another response", get, ok("x"), poison],
    [
      "bytes behind the last chunk",
      get,
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
      poison,
    ],
    ["a body in answer to HEAD", head, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "hello"],
    ["a body behind 204", get, "HTTP/1.1 204 No Content\r\n\r\n", "hello"],
    ["a body that 204 announces", get, "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", "hello"],
    ["a chunked body behind 204", get, "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n", "0\r\n\r\n"],
    ["a body behind 304", get, "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", "hello"],
  ] as const) {
    it(`W4: an upstream that sends ${what} has its response delivered and its stream closed, however TCP splits it`, async () => {
      const sent = whole + behind;
      for (let cut = 1; cut <= sent.length; cut += 1) {
        const answer: Answerer = ({ socket, index }) => {
          if (index > 0) return void socket.write(ok("clean"));
          socket.write(sent.slice(0, cut), "latin1");
          void turns().then(() => socket.write(sent.slice(cut), "latin1"));
        };
        await withFront(answer, {}, async (front, client) => {
          client.send(request);
          await eventually(() => front.finished.length === 1 && isOver(front));
          assert.deepEqual(
            [front.finished[0]?.status, front.finished[0]?.cutShort],
            [Number(whole.slice(9, 12)), false],
          );
          client.send(get);
          const received = await client.until(/clean$/);
          assert.doesNotMatch(received, /poisoned|hello/);
          assert.equal(front.upstream.connections.length, 2);
        });
      }
    });
  }

  it("W4: bytes on an idle stream end it", async () => {
    await withFront(answering(ok("x")), {}, async (front, client) => {
      await client.send(get).until("\r\n\r\nx");
      front.upstream.connections[0]?.socket.write("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\npoisoned");
      await eventually(() => front.pool.idle === 0);
      client.clear().send(get);
      assert.doesNotMatch(await client.until("\r\n\r\nx"), /poisoned/);
      assert.equal(front.upstream.connections.length, 2);
    });
  });

  it("after an upstream closed a warm stream, a repeatable request is sent again on a new one", async () => {
    // The first connection answers once, and breaks on the next request.
    let asked = 0;
    const answer: Answerer = (connection) => {
      asked += 1;
      if (connection.index === 0 && asked === 2) connection.socket.destroy();
      else connection.socket.write(ok(`from ${connection.index}`));
    };
    await withFront(answer, {}, async (front, client) => {
      await client.send(get).until("from 0");
      await client.send(get).until("from 1");
      assert.deepEqual(
        front.finished.map(({ status }) => status),
        [200, 200],
      );
    });
  });

  for (const request of [
    "POST / HTTP/1.1\r\nHost: a.example.com\r\nContent-Length: 0\r\n\r\n",
    "PATCH / HTTP/1.1\r\nHost: a.example.com\r\n\r\n",
    "PUT / HTTP/1.1\r\nHost: a.example.com\r\nContent-Length: 1\r\n\r\nx",
  ]) {
    it(`G5: an upstream is never sent ${request.split(" ")[0]} twice once bytes were sent`, async () => {
      let posts = 0;
      const answer: Answerer = (connection) => {
        if (connection.seen.includes("GET")) connection.socket.write(ok("warm"));
        else {
          posts += 1;
          connection.socket.destroy();
        }
        connection.seen = "";
      };
      await withFront(answer, {}, async (_front, client) => {
        await client.send(get).until("warm");
        client.clear().send(request);
        assert.match(await client.until(errorCode("upstream_refused")), /^HTTP\/1\.1 502 /);
        assert.equal(posts, 1);
      });
    });
  }

  it("an upstream that cannot be reached causes 502, and the connection continues", async () => {
    const front = await startFront(answering(ok("x")), { upstreams: { choose: () => ({ error: "backend_empty" }) } });
    try {
      const client = front.connect().send(get);
      assert.match(await client.until(errorCode("backend_empty")), /^HTTP\/1\.1 503 /);
      client.clear().send(get);
      await client.until(errorCode("backend_empty"));
    } finally {
      await front.stop();
    }
  });

  it("an upstream that does not answer in time is 504", async () => {
    await withFront(
      () => {},
      { limits: { upstreamTimeoutMs: 5000 } },
      async (front, client) => {
        client.send(get);
        await eventually(() => front.upstream.connections[0]?.seen !== "" && front.upstream.connections.length === 1);
        front.clock.pass(4000);
        assert.equal(client.received, "");
        front.clock.pass(2000);
        assert.match(await client.until(errorCode("upstream_timeout")), /^HTTP\/1\.1 504 /);
      },
    );
  });

  it("an agent that cannot dial its service is distinguished from a service's own 502", async () => {
    const own = "HTTP/1.1 502 Bad Gateway\r\npostern-agent-error: 8012\r\nContent-Length: 0\r\n\r\n";
    const sdk = "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 31\r\n\r\nfailed to dial backend: refused";
    for (const response of [own, sdk]) {
      await withFront(answering(response), { isAgent: true }, async (_front, client) => {
        assert.match(await client.send(get).until(errorCode("agent_dial_failed")), /^HTTP\/1\.1 502 /);
      });
      await withFront(answering(response), { isAgent: false }, async (_front, client) => {
        const received = await client.send(get).until("\r\n\r\n");
        assert.doesNotMatch(received, /8012/);
      });
    }
    await withFront(answering(own.replace("502 Bad Gateway", "200 OK")), { isAgent: true }, async (_front, client) => {
      assert.doesNotMatch(await client.send(get).until("\r\n\r\n"), /8012/);
    });
  });

  it("W5: an upstream that sends fields of this hop, or the edge's own, does not speak for the edge", async () => {
    const response =
      "HTTP/1.1 418 Teapot\r\nngrok-error-code: ERR_NGROK_1\r\nPostern-Error-Code: ERR_POSTERN_1\r\nX-Request-Id: mine\r\n" +
      "Keep-Alive: timeout=5\r\nProxy-Authenticate: Basic\r\nConnection: keep-alive, X-Hop\r\nX-Hop: a\r\nX-Kept: b\r\nContent-Length: 0\r\n\r\n";
    await withFront(answering(response), {}, async (front, client) => {
      const received = await client.send(get).until("\r\n\r\n");
      assert.match(
        received,
        /^HTTP\/1\.1 418 Teapot\r\nX-Kept: b\r\nContent-Length: 0\r\nx-request-id: req_[0-9a-z]{27}\r\n\r\n$/,
      );
      assert.ok(received.includes(front.finished[0]?.id as string));
    });
  });
});

it("response trailers pass, except fields that the edge sets or that frame the message", async () => {
  const trailers = "X-Sum: 1\r\nX-Request-Id: mine\r\nngrok-error-code: ERR_NGROK_1\r\n";
  await withFront(
    answering(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n${trailers}\r\n`),
    {},
    async (_front, client) => {
      assert.match(await client.send(get).until(/0\r\n[^]*\r\n\r\n$/), /\r\n1\r\nx\r\n0\r\nX-Sum: 1\r\n\r\n$/);
    },
  );
});

it("D3: every byte of a response is credited once, also when the client reads late", async () => {
  let given = 0;
  let credited = 0;
  const counted = (stream: ByteStream): ByteStream => ({
    set receiver(receiver: ByteReceiver) {
      stream.receiver = { ...bound(receiver), data: (bytes) => ((given += bytes.length), receiver.data(bytes)) };
    },
    write: (bytes) => stream.write(bytes),
    writeLatin1: (text) => stream.writeLatin1(text),
    end: () => stream.end(),
    abort: () => stream.abort(),
    consumed(byteCount) {
      credited += byteCount;
      stream.consumed(byteCount);
    },
  });
  const chunked = `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${`4000\r\n${"x".repeat(0x4000)}\r\n`.repeat(40)}0\r\n\r\n`;
  const responses = [ok("x".repeat(900_000)), chunked, "HTTP/1.1 103 Early Hints\r\n\r\n" + ok("x")];
  let next = 0;
  const front = await startFront(
    answering(() => responses[next++ % responses.length] as string),
    { wrap: counted },
  );
  try {
    for (let round = 0; round < 6; round += 1) {
      const client = front.connect();
      client.socket.pause();
      client.send(get.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"));
      await eventually(() => front.context.counters.bytesOut > 0);
      for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      client.socket.resume();
      await client.untilEnd();
      assert.equal(credited, given);
    }
    assert.equal(front.upstream.connections.length, 1);
  } finally {
    await front.stop();
  }
});

/** The first connection to the upstream is given up. */
function isOver(front: Front): boolean {
  const socket = front.upstream.connections[0]?.socket;
  return socket?.readableEnded === true || socket?.closed === true;
}

/** Lets pending loopback traffic arrive. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

function bound(receiver: ByteReceiver): ByteReceiver {
  return {
    data: (bytes) => receiver.data(bytes),
    ended: () => receiver.ended(),
    drained: () => receiver.drained(),
    closed: (error) => receiver.closed(error),
  };
}

describe("the streams of a tunnel", () => {
  it("the streams of a tunnel are shared one after the other, and opened side by side", async () => {
    await withFront(answering(ok("x")), {}, async (front) => {
      const clients = Array.from({ length: 10 }, () => front.connect());
      for (let round = 0; round < 3; round += 1) {
        await Promise.all(clients.map((client) => client.clear().send(get).until("\r\n\r\nx")));
      }
      assert.ok(front.upstream.connections.length <= 10);
      assert.equal(front.pool.outstanding, 0);
    });
  });

  it("idle streams of a tunnel are limited in number and time, and can be closed", async () => {
    const limits = { maxIdleStreams: 2, idleStreamMs: 5000, surplusStreamMs: 1000 };
    // The service answers when all five requests have arrived, so that each needs a separate stream.
    const asked: Socket[] = [];
    const answerTogether: Answerer = ({ socket }) => {
      if (asked.push(socket) === 5) for (const one of asked.splice(0)) one.write(ok("x"));
    };
    await withFront(answerTogether, { limits }, async (front) => {
      const clients = Array.from({ length: 5 }, () => front.connect());
      for (let round = 0; round < 3; round += 1) {
        await Promise.all(clients.map((client) => client.clear().send(get).until("\r\n\r\nx")));
        await eventually(() => front.pool.outstanding === 0);
        assert.equal(front.pool.idle, 5);
      }
      assert.equal(front.upstream.connections.length, 5, "streams beyond the limit serve the next requests");
      front.clock.pass(2000);
      assert.equal(front.pool.idle, 2);
      assert.equal(front.pool.evict(), true);
      assert.equal(front.pool.idle, 1);
      front.clock.pass(6000);
      assert.equal(front.pool.idle, 0);
      assert.equal(front.pool.evict(), false);
    });
  });

  it("streams of a tunnel end with the tunnel: open requests get 503 or are cut", async () => {
    await withFront(
      (connection) => {
        if (connection.seen.includes("/begun"))
          connection.socket.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf");
      },
      {},
      async (front, client) => {
        client.send(get);
        const begun = front.connect().send(get.replace("/", "/begun"));
        await begun.until("half");
        await eventually(
          () => front.upstream.connections.length === 2 && front.upstream.connections.every(({ seen }) => seen !== ""),
        );
        front.pool.close();
        assert.match(await client.until(errorCode("tunnel_gone")), /^HTTP\/1\.1 503 /);
        assert.match(await begun.untilEnd(), /half$/);
        client.clear().send(get);
        await client.until(errorCode("tunnel_gone"));
      },
    );
  });
});
