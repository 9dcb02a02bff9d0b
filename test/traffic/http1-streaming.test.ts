import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { errorCode } from "../../src/lib/errors.ts";
import { answering, eventually, ok, startFront, withFront } from "../support/front.ts";
import type { Answerer, Front } from "../support/front.ts";

const host = "Host: a.example.com\r\n";

describe("requests on one connection", () => {
  let front: Front;
  before(async () => {
    front = await startFront(
      answering((request) =>
        request.startsWith("HEAD")
          ? "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"
          : ok(`${request.split(" ")[0]} ${request.split(" ")[1]} ${request.split("\r\n\r\n")[1]}`),
      ),
    );
  });
  after(() => front.stop());

  it("requests on one connection use one upstream stream, one after the other", async () => {
    const client = front.connect();
    for (const path of ["/one", "/two", "/three"]) {
      client.clear().send(`GET ${path} HTTP/1.1\r\n${host}\r\n`);
      await client.until(`GET ${path} `);
    }
    assert.equal(front.upstream.connections.length, 1);
    assert.equal(front.pool.idle, 1);
  });

  it("requests on one connection may be pipelined, and are answered in order", async () => {
    const client = front.connect();
    const paths = Array.from({ length: 50 }, (_, index) => `/p${index}`);
    client.send(paths.map((path) => `POST ${path} HTTP/1.1\r\n${host}Content-Length: 3\r\n\r\nabc`).join(""));
    await client.until("POST /p49 abc");
    assert.deepEqual(
      [...client.received.matchAll(/POST (\/p\d+) abc/g)].map(([, path]) => path),
      paths,
    );
  });

  it("requests on one connection mean the same however they are cut into pieces", async () => {
    const text = `POST /a HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\nGET /b HTTP/1.1\r\n${host}\r\n`;
    for (let cut = 1; cut < text.length; cut += 1) {
      const client = front.connect().send(text.slice(0, cut));
      await eventually(() => client.socket.bytesWritten >= cut);
      client.send(text.slice(cut));
      const received = await client.until("GET /b ");
      assert.equal(received.split("HTTP/1.1 200").length, 3, `cut at ${cut}`);
      client.socket.destroy();
    }
  });

  it("requests on one connection end when the client asks for it, also in HTTP/1.0", async () => {
    for (const [version, fields] of [
      ["1.1", "Connection: close\r\n"],
      ["1.0", ""],
    ]) {
      const received = await front.connect().send(`GET /end HTTP/${version}\r\n${host}${fields}\r\n`).untilEnd();
      assert.match(received, /\r\nConnection: close\r\n[^]*GET \/end $/);
    }
  });

  it("requests on one connection continue in HTTP/1.0 when the client asks for it", async () => {
    const client = front.connect().send(`GET /one HTTP/1.0\r\n${host}Connection: keep-alive\r\n\r\n`);
    assert.match(await client.until("GET /one "), /\r\nConnection: keep-alive\r\n/);
    client.send(`GET /two HTTP/1.0\r\n${host}\r\n`);
    assert.match(await client.untilEnd(), /GET \/two $/);
  });

  it("HEAD is answered with the length and without the body", async () => {
    const client = front.connect().send(`HEAD /a HTTP/1.1\r\n${host}\r\n`);
    assert.match(await client.until("\r\n\r\n"), /\r\nContent-Length: \d+\r\n/);
    assert.ok(client.received.endsWith("\r\n\r\n"));
  });
});

it("HEAD, 204 and 304 leave the connection in step, whatever length they name", async () => {
  const answer = answering((request) => {
    if (request.startsWith("HEAD")) return "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n";
    if (request.startsWith("GET /304")) return "HTTP/1.1 304 Not Modified\r\nContent-Length: 100\r\n\r\n";
    if (request.startsWith("GET /204")) return "HTTP/1.1 204 No Content\r\n\r\n";
    return ok("last");
  });
  await withFront(answer, {}, async (front, client) => {
    for (const [line, status] of [
      ["HEAD /", 200],
      ["GET /304", 304],
      ["GET /204", 204],
    ]) {
      client.clear().send(`${line} HTTP/1.1\r\n${host}\r\n`);
      await client.until(`HTTP/1.1 ${status} `);
    }
    client.send(`GET / HTTP/1.1\r\n${host}\r\n`);
    await client.until("\r\n\r\nlast");
    assert.equal(front.upstream.connections.length, 1);
  });
});

it("a request body of 20 MB and its echo pass unchanged, chunked and with a length", async () => {
  const size = 20 * 1024 * 1024;
  let head = "";
  let got = 0;
  const answer: Answerer = (connection) => {
    if (head === "") {
      const end = connection.seen.indexOf("\r\n\r\n");
      if (end < 0) return;
      head = connection.seen.slice(0, end);
      connection.seen = connection.seen.slice(end + 4);
    }
    got += connection.seen.length;
    connection.seen = "";
    if (got >= size && !/chunked/.test(head)) connection.socket.write(ok(`got ${got}`));
  };
  await withFront(answer, {}, async (front, client) => {
    client.send(`PUT /big HTTP/1.1\r\n${host}Content-Length: ${size}\r\n\r\n`);
    client.socket.write(Buffer.alloc(size, "x"));
    await client.until(`got ${size}`);
    assert.equal(front.finished[0]?.bytesIn, size);
  });
});

it("a response of unknown length is chunked for HTTP/1.1 and ended by closing for HTTP/1.0", async () => {
  const chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n";
  await withFront(answering(chunked), {}, async (front, client) => {
    client.send(`GET / HTTP/1.1\r\n${host}\r\n`);
    const received = await client.until("0\r\nX-Sum: 1\r\n\r\n");
    assert.match(received, /\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n$/);
    const old = await front.connect().send(`GET / HTTP/1.0\r\n${host}\r\n`).untilEnd();
    assert.doesNotMatch(old, /Transfer-Encoding/i);
    assert.match(old, /\r\n\r\nabc$/);
    assert.equal(front.upstream.connections.length, 1);
  });
});

it("a response that ends with the upstream's connection is complete", async () => {
  const answer: Answerer = ({ socket }) => void socket.end("HTTP/1.1 200 OK\r\n\r\nall of it");
  await withFront(answer, {}, async (_front, client) => {
    client.send(`GET / HTTP/1.1\r\n${host}\r\n`);
    assert.match(await client.until("0\r\n\r\n"), /\r\n\r\n9\r\nall of it\r\n0\r\n\r\n$/);
  });
});

it("parts of a response are passed on as they arrive", async () => {
  await withFront(
    ({ socket }) =>
      void socket.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"),
    {},
    async (front, client) => {
      client.send(`GET / HTTP/1.1\r\n${host}\r\n`);
      await client.until("\r\n\r\n");
      for (const event of ["one", "two", "three"]) {
        front.upstream.connections[0]?.socket.write(`${event.length.toString(16)}\r\n${event}\r\n`);
        await client.until(event);
      }
    },
  );
});

it("request trailers reach the upstream, except fields that only the edge may set (R3)", async () => {
  await withFront(
    (connection) => {
      if (connection.seen.endsWith("0\r\n\r\n") || /\r\n0\r\n[^]+\r\n\r\n$/.test(connection.seen))
        connection.socket.write(ok("x"));
    },
    {},
    async (front, client) => {
      client.send(`POST / HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n`);
      client.send(
        "0\r\nX-Sum: 1\r\nX-Forwarded-For: 1.2.3.4\r\nngrok-auth-user-id: root\r\nX_Real_IP: 1.2.3.4\r\n\r\n",
      );
      await client.until("\r\n\r\nx");
      const seen = front.upstream.connections[0]?.seen as string;
      assert.match(seen, /1\r\na\r\n0\r\nX-Sum: 1\r\n\r\n$/);
    },
  );
});

it("100-continue from the upstream reaches the client that expects it, and no other", async () => {
  const answer: Answerer = (connection) => {
    if (connection.seen.endsWith("\r\n\r\n")) connection.socket.write("HTTP/1.1 100 Continue\r\n\r\n");
    if (connection.seen.endsWith("body")) {
      connection.seen = "";
      connection.socket.write(ok("done"));
    }
  };
  await withFront(answer, {}, async (front, client) => {
    client.send(`POST / HTTP/1.1\r\n${host}Content-Length: 4\r\nExpect: 100-continue\r\n\r\n`);
    await client.until("HTTP/1.1 100 Continue\r\n\r\n");
    client.send("body");
    assert.match(await client.until("done"), /100 Continue\r\n\r\nHTTP\/1\.1 200 OK/);
    const other = front.connect().send(`POST / HTTP/1.1\r\n${host}Content-Length: 4\r\n\r\n`);
    await eventually(() => front.upstream.connections.some(({ seen }) => seen.endsWith("\r\n\r\n")));
    assert.match(await other.send("body").until("done"), /^HTTP\/1\.1 200 /);
  });
});

it("a refusal instead of 100-continue spares the body and closes", async () => {
  await withFront(
    ({ socket }) => void socket.write("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno"),
    {},
    async (_front, client) => {
      client.send(`POST / HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n`);
      assert.match(await client.untilEnd(), /^HTTP\/1\.1 403 [^]*Connection: close[^]*no$/);
    },
  );
});

it("early hints are passed on to HTTP/1.1, and interim responses without end are not (W4)", async () => {
  const hints = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";
  await withFront(answering(hints + ok("x")), {}, async (front, client) => {
    client.send(`GET / HTTP/1.1\r\n${host}\r\n`);
    assert.match(await client.until("\r\n\r\nx"), /^HTTP\/1\.1 103 Early Hints\r\nLink: <\/a>\r\n\r\nHTTP\/1\.1 200/);
    const old = await front.connect().send(`GET / HTTP/1.0\r\n${host}\r\n`).untilEnd();
    assert.match(old, /^HTTP\/1\.1 200/);
  });
  await withFront(answering("HTTP/1.1 102 Processing\r\n\r\n".repeat(30) + ok("x")), {}, async (_front, client) => {
    client.send(`GET / HTTP/1.1\r\n${host}\r\n`);
    assert.match(await client.until(errorCode("upstream_invalid")), /HTTP\/1\.1 502 /);
  });
});

it("W4: a length where there can be no body is not passed on (RFC 9110 §8.6)", async () => {
  const hints = "HTTP/1.1 103 Early Hints\r\nContent-Length: 0\r\nLink: </a>\r\n\r\n";
  const nothing = "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\nX-Kept: a\r\n\r\n";
  await withFront(answering(hints + nothing), {}, async (_front, client) => {
    client.send(`GET / HTTP/1.1\r\n${host}\r\n`);
    const received = await client.until(/HTTP\/1\.1 204 [^]*\r\n\r\n/);
    assert.match(
      received,
      /^HTTP\/1\.1 103 Early Hints\r\nLink: <\/a>\r\n\r\nHTTP\/1\.1 204 No Content\r\nX-Kept: a\r\n/,
    );
    assert.doesNotMatch(received, /content-length/i);
  });
});

describe("a client that goes away", () => {
  it("a client that disconnects before the response ends the upstream's stream", async () => {
    await withFront(
      () => {},
      {},
      async (front, client) => {
        client.send(`GET /slow HTTP/1.1\r\n${host}\r\n`);
        await eventually(() => front.upstream.connections.length === 1 && front.upstream.connections[0]?.seen !== "");
        client.socket.destroy();
        await eventually(
          () =>
            front.upstream.connections[0]?.socket.closed === true ||
            front.upstream.connections[0]?.socket.readableEnded === true,
        );
        await eventually(() => front.finished.length === 1);
        assert.deepEqual([front.finished[0]?.status, front.finished[0]?.cutShort], [0, true]);
        assert.equal(front.pool.outstanding, 0);
        assert.equal(front.pool.idle, 0);
      },
    );
  });

  it("a client that disconnects in the middle of its body ends the upstream's stream", async () => {
    await withFront(
      () => {},
      {},
      async (front, client) => {
        client.send(`POST / HTTP/1.1\r\n${host}Content-Length: 100\r\n\r\nhalf`);
        await eventually(() => front.upstream.connections[0]?.seen.endsWith("half") === true);
        client.socket.destroy();
        await eventually(() => front.finished.length === 1);
        await eventually(
          () =>
            front.upstream.connections[0]?.socket.readableEnded === true ||
            front.upstream.connections[0]?.socket.closed === true,
        );
        assert.equal(front.pool.outstanding, 0);
      },
    );
  });
});

describe("backpressure (D3)", () => {
  it("a client that does not read stops the upstream", async () => {
    let sent = 0;
    let stopped = false;
    const piece = Buffer.alloc(64 * 1024, "x");
    const size = 512 * 1024 * 1024;
    const answer: Answerer = ({ socket }) => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${size}\r\n\r\n`);
      const pump = (): void => {
        while (sent < size) {
          sent += piece.length;
          if (!socket.write(piece)) {
            stopped = true;
            socket.once("drain", pump);
            return;
          }
        }
      };
      pump();
    };
    await withFront(answer, {}, async (front, client) => {
      client.socket.pause();
      client.send(`GET / HTTP/1.1\r\n${host}\r\n`);
      await eventually(() => stopped && sent > 0);
      await settled(() => sent);
      assert.ok(sent < 64 * 1024 * 1024, `the upstream could send ${sent} bytes`);
      assert.ok((front.finished[0]?.bytesOut ?? 0) === 0);
    });
  });

  it("an upstream that does not read stops the client", async () => {
    await withFront(
      ({ socket }) => void socket.pause(),
      {},
      async (_front, client) => {
        const size = 512 * 1024 * 1024;
        let sent = 0;
        client.send(`PUT / HTTP/1.1\r\n${host}Content-Length: ${size}\r\n\r\n`);
        const piece = Buffer.alloc(64 * 1024, "x");
        const pump = (): void => {
          while (sent < size) {
            sent += piece.length;
            if (!client.socket.write(piece)) {
              client.socket.once("drain", pump);
              return;
            }
          }
        };
        pump();
        await settled(() => sent);
        assert.ok(sent < 64 * 1024 * 1024, `the client could send ${sent} bytes`);
      },
    );
  });
});

/** Resolves once `value` has been the same for many turns of the event loop. */
async function settled(value: () => number): Promise<void> {
  let last = -1;
  for (let same = 0; same < 2000; same += 1) {
    if (value() !== last) same = 0;
    last = value();
    await new Promise((resolve) => setImmediate(resolve));
  }
}
