/** Requests over HTTP/2 as ordinary clients send them, through the pipeline to an HTTP/1.1 upstream. */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { ClientHttp2Session } from "node:http2";
import { createServer as createTcpServer } from "node:net";
import type { Socket } from "node:net";
import { afterEach, describe, it } from "node:test";
import { createServer } from "../../src/lib/http.ts";
import { h2Answer, h2Request, h2Session } from "../support/h2-client.ts";
import { proofOf } from "../support/upgraded.ts";
import { startH2Server } from "../support/h2-server.ts";
import type { H2Server } from "../support/h2-server.ts";

const open: { server?: H2Server; session?: ClientHttp2Session } = {};

async function start(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
  options: Parameters<typeof startH2Server>[1] = {},
): Promise<{ server: H2Server; session: ClientHttp2Session; upstream: Server }> {
  const upstream = createServer(answer);
  const server = await startH2Server(upstream, options);
  const session = await h2Session(server);
  open.server = server;
  open.session = session;
  return { server, session, upstream };
}

afterEach(async () => {
  open.session?.destroy();
  await open.server?.stop();
  delete open.server;
  delete open.session;
});

describe("a request over HTTP/2", () => {
  it("a request over HTTP/2 reaches the upstream completely as HTTP/1.1, and the response returns", async () => {
    let seen: IncomingMessage | undefined;
    const { session } = await start((request, response) => {
      seen = request;
      response.setHeader("X-Mixed-Case", "Kept");
      response.setHeader("Set-Cookie", ["a=1", "b=2"]);
      response.statusCode = 203;
      response.end("hello");
    });
    const answer = await h2Request(session, {
      ":path": "/where/?q=%20x",
      ":authority": "app.example.com",
      cookie: ["one=1", "two=2"],
      "x-own": "yes",
    });
    assert.equal(answer.status, 203);
    assert.equal(String(answer.body), "hello");
    assert.equal(answer.headers["x-mixed-case"], "Kept");
    assert.deepEqual(answer.headers["set-cookie"], ["a=1", "b=2"]);
    assert.match(String(answer.headers["x-request-id"]), /^req_/);
    assert.equal(answer.headers["connection"], undefined);
    assert.equal(answer.headers["keep-alive"], undefined);
    assert.equal(seen?.httpVersion, "1.1");
    assert.equal(seen.url, "/where/?q=%20x");
    assert.equal(seen.headers.host, "app.example.com");
    assert.equal(seen.headers.cookie, "one=1; two=2");
    assert.equal(seen.headers["x-own"], "yes");
    assert.equal(seen.headers["x-forwarded-proto"], "https");
    assert.equal(seen.headers["x-forwarded-for"], "127.0.0.1");
    assert.equal(seen.headers["x-request-id"], answer.headers["x-request-id"]);
  });

  it("a request over HTTP/2 carries bodies both ways, with and without a declared length", async () => {
    const { session } = await start((request, response) => {
      response.setHeader("seen", request.headers["content-length"] ?? String(request.headers["transfer-encoding"]));
      request.pipe(response);
    });
    for (const size of [1, 4096, 16_385, 1_000_000]) {
      const body = Buffer.alloc(size, "0123456789");
      const chunked = await h2Request(session, { ":method": "POST", ":path": "/" }, body);
      assert.equal(chunked.headers["seen"], "chunked");
      assert.ok(chunked.body.equals(body), `${size} bytes, chunked`);
      const headers = { ":method": "PUT", ":path": "/", "content-length": String(size) };
      const counted = await h2Request(session, headers, body);
      assert.equal(counted.headers["seen"], String(size));
      assert.ok(counted.body.equals(body), `${size} bytes, counted`);
      assert.equal(counted.code, 0);
    }
    const empty = await h2Request(session, { ":method": "POST", ":path": "/" }, Buffer.alloc(0));
    assert.equal(empty.body.length, 0);
  });

  it("a request over HTTP/2 answers HEAD, 204 and 304 without a body and with their fields", async () => {
    const { session } = await start((request, response) => {
      response.statusCode = Number(new URL(request.url ?? "", "http://x").searchParams.get("status"));
      if (request.method === "HEAD") response.setHeader("content-length", "12345");
      response.end();
    });
    const headAnswer = await h2Request(session, { ":method": "HEAD", ":path": "/?status=200" });
    assert.equal(headAnswer.headers["content-length"], "12345");
    assert.equal(headAnswer.body.length, 0);
    for (const status of [204, 304]) {
      const answer = await h2Request(session, { ":path": `/?status=${status}` });
      assert.equal(answer.status, status);
      assert.equal(answer.body.length, 0);
      assert.equal(answer.code, 0);
    }
  });

  it("a request over HTTP/2 passes trailers in both directions", async () => {
    let trailers: NodeJS.Dict<string> = {};
    const { session } = await start((request, response) => {
      request.resume();
      request.on("end", () => {
        trailers = request.trailers;
        response.setHeader("Trailer", "X-Checksum");
        response.write("part");
        response.addTrailers({ "X-Checksum": "abc" });
        response.end();
      });
    });
    const stream = session.request({ ":method": "POST", ":path": "/" }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "x-sent": "yes" }));
    stream.end("body");
    const answer = await h2Answer(stream);
    assert.equal(String(answer.body), "part");
    assert.equal(answer.trailers?.["x-checksum"], "abc");
    assert.equal(trailers["x-sent"], "yes");
  });

  it("a request over HTTP/2 gets 100 Continue when the upstream sends it, and other interim responses", async () => {
    const upstream = createServer();
    upstream.on("checkContinue", (request: IncomingMessage, response: ServerResponse) => {
      response.writeEarlyHints({ link: "</style.css>; rel=preload" });
      response.writeContinue();
      request.pipe(response);
    });
    const server = await startH2Server(upstream);
    const session = await h2Session(server);
    open.server = server;
    open.session = session;
    const stream = session.request({ ":method": "POST", ":path": "/", expect: "100-continue" }, { endStream: false });
    const hints: unknown[] = [];
    stream.on("headers", (headers) => hints.push(headers[":status"], headers["link"] ?? "-"));
    const answered = h2Answer(stream);
    await once(stream, "continue");
    stream.end("now");
    const answer = await answered;
    assert.equal(String(answer.body), "now");
    assert.deepEqual(hints, [103, "</style.css>; rel=preload", 100, "-"]);
  });

  it("a request over HTTP/2 is refused with 417 when any of its expectations is another than 100-continue, or there are several", async () => {
    const { session } = await start((_request, response) => response.end());
    for (const expect of [
      ["the-unexpected", "100-continue"],
      ["100-continue", "the-unexpected"],
      "100-continue, 100-continue",
    ]) {
      const answer = await h2Request(session, { ":path": "/", expect: expect as never });
      assert.equal(answer.status, 417);
    }
  });

  it("a request over HTTP/2: streams: each piece arrives before the next is sent", async () => {
    const { session } = await start((request, response) => {
      request.on("data", (piece: Buffer) => response.write(`seen ${String(piece)}`));
      request.on("end", () => response.end());
    });
    const stream = session.request({ ":method": "POST", ":path": "/" }, { endStream: false });
    stream.setEncoding("utf8");
    for (const word of ["one", "two", "three"]) {
      stream.write(word);
      const [piece] = (await once(stream, "data")) as [string];
      assert.equal(piece, `seen ${word}`);
    }
    stream.end();
    await once(stream, "close");
  });

  it("R2: a request over HTTP/2 is for the site of the server name, else 421", async () => {
    const { session } = await start((_request, response) => response.end("wrong"));
    for (const authority of ["other.example.com", "nowhere.example.com", "app.example.com:8000"]) {
      const answer = await h2Request(session, { ":path": "/", ":authority": authority });
      assert.equal(answer.status, 421, authority);
    }
  });

  it("D3: a response over HTTP/2 that its client does not read delays no others, and is not buffered without bound", async () => {
    let written = 0;
    const { session, server } = await start((request, response) => {
      if (request.url === "/quick") {
        response.end("quick");
        return;
      }
      const more = (): void => {
        while (written < 64 * 1024 * 1024) {
          written += 65_536;
          if (!response.write(Buffer.alloc(65_536))) {
            response.once("drain", more);
            return;
          }
        }
        response.end();
      };
      more();
    });
    // The client itself has room for others.
    session.setLocalWindowSize(1024 * 1024);
    const stalled = session.request({ ":path": "/stalled" });
    await once(stalled, "response");
    for (let count = 0; count < 20; count += 1) {
      assert.equal(String((await h2Request(session, { ":path": "/quick" })).body), "quick");
    }
    // Kernel buffers hold some megabytes; the whole response does not get through.
    assert.ok(written < 32 * 1024 * 1024, `the upstream wrote ${written}`);
    stalled.destroy();
    await once(stalled, "close");
    assert.equal(String((await h2Request(session, { ":path": "/quick" })).body), "quick");
    assert.deepEqual(
      server.finished.filter(({ cutShort }) => cutShort).map(({ path }) => path),
      ["/stalled"],
    );
  });

  it("D3: a request over HTTP/2 with a body that the upstream does not read is held back by the window", async () => {
    let request: IncomingMessage | undefined;
    const { session } = await start((incoming, response) => {
      if (incoming.url === "/slow") request = incoming;
      else incoming.pipe(response);
    });
    const slow = session.request({ ":method": "POST", ":path": "/slow" }, { endStream: false });
    slow.on("error", () => {});
    slow.write(Buffer.alloc(4 * 1024 * 1024));
    const quick = await h2Request(session, { ":method": "POST", ":path": "/quick" }, Buffer.from("quick"));
    assert.equal(String(quick.body), "quick");
    assert.ok(slow.writableLength > 1024 * 1024, `only ${slow.writableLength} bytes are held back`);
    assert.ok(request);
    let received = 0;
    request.on("data", (piece: Buffer) => (received += piece.length));
    slow.end();
    await once(request, "end");
    assert.equal(received, 4 * 1024 * 1024);
  });

  it("a request over HTTP/2 that its client gives up is given up at the upstream", async () => {
    const gone = Promise.withResolvers<void>();
    const { session, server } = await start((_request, response) => {
      response.on("close", () => gone.resolve());
      response.write("first");
    });
    const stream = session.request({ ":path": "/" });
    await once(stream, "data");
    stream.close(8);
    await gone.promise;
    assert.deepEqual(server.finished, [{ path: "/", status: 200, cutShort: true }]);
  });

  it("W4: a request over HTTP/2 is reset, not ended, when the upstream breaks off", async () => {
    const { session } = await start((_request, response) => {
      response.setHeader("content-length", "100");
      response.write("only this");
      setImmediate(() => response.destroy());
    });
    const answer = await h2Request(session, { ":path": "/" });
    assert.equal(answer.status, 200);
    assert.notEqual(answer.code, 0);
  });

  it("a request over HTTP/2 may be answered before its body has arrived", async () => {
    const { server, session } = await start((_request, response) => {
      response.statusCode = 413;
      response.end("too much");
    });
    const stream = session.request({ ":method": "POST", ":path": "/" }, { endStream: false });
    stream.write("some");
    // The client has the whole answer; then its silence ends the stream.
    stream.once("end", () => server.clock.pass(10_000));
    const answer = await h2Answer(stream);
    assert.equal(answer.status, 413);
    assert.equal(String(answer.body), "too much");
    assert.equal(answer.code, 0);
  });

  it("a request over HTTP/2 finds the next request on the connection unharmed, a hundred at a time", async () => {
    const { session } = await start((request, response) => response.end(request.url));
    for (let round = 0; round < 3; round += 1) {
      const answers = await Promise.all(
        Array.from({ length: 100 }, (_, index) => h2Request(session, { ":path": `/${round}/${index}` })),
      );
      assert.deepEqual(
        answers.map(({ body }) => String(body)),
        Array.from({ length: 100 }, (_, index) => `/${round}/${index}`),
      );
    }
  });

  it("a request over HTTP/2 carries header fields of any allowed size, in both directions", async () => {
    const { session } = await start((request, response) => {
      response.setHeader("x-back", String(request.headers["x-long"]));
      response.setHeader("x-many", "y".repeat(14_000));
      response.end();
    });
    const long = "v".repeat(12_000);
    const answer = await h2Request(session, { ":path": "/", "x-long": long });
    assert.equal(answer.headers["x-back"], long);
    assert.equal(String(answer.headers["x-many"]).length, 14_000);
  });

  it("W7: a request over HTTP/2 with too large a header gets 431, a longer target 414, and the connection continues", async () => {
    const { session } = await start((_request, response) => response.end("fine"));
    const large = await h2Request(session, { ":path": "/", "x-large": "x".repeat(40_000) });
    assert.equal(large.status, 431);
    const many = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`x-${index}`, "x"]));
    assert.equal((await h2Request(session, { ":path": "/", ...many })).status, 431);
    assert.equal((await h2Request(session, { ":path": `/${"x".repeat(20_000)}` })).status, 414);
    assert.equal(String((await h2Request(session, { ":path": "/" })).body), "fine");
  });
});

describe("a WebSocket over HTTP/2", () => {
  it("W6: a WebSocket over HTTP/2 is an upgrade at the upstream, and bytes pass unaltered both ways (RFC 8441)", async () => {
    const upstream = createServer();
    let upgrade: IncomingMessage | undefined;
    upstream.on("upgrade", (request: IncomingMessage, socket: Socket) => {
      upgrade = request;
      socket.write(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
          `Sec-WebSocket-Accept: ${proofOf(String(request.headers["sec-websocket-key"]))}\r\nSec-WebSocket-Protocol: chat\r\n\r\nfirst`,
      );
      socket.pipe(socket);
    });
    const server = await startH2Server(upstream);
    const session = await h2Session(server);
    open.server = server;
    open.session = session;
    assert.equal(session.remoteSettings.enableConnectProtocol, true);
    const stream = session.request(
      { ":method": "CONNECT", ":protocol": "websocket", ":path": "/chat?x", "sec-websocket-version": "13" },
      { endStream: false },
    );
    const [headers] = (await once(stream, "response")) as [Record<string, unknown>];
    assert.equal(headers[":status"], 200);
    assert.equal(headers["sec-websocket-protocol"], "chat");
    assert.equal(headers["sec-websocket-accept"], undefined);
    assert.equal(upgrade?.url, "/chat?x");
    assert.equal(upgrade.headers.upgrade, "websocket");
    assert.match(String(upgrade.headers["sec-websocket-key"]), /^[A-Za-z0-9+/]{22}==$/);
    const seen: Buffer[] = [];
    stream.on("data", (piece: Buffer) => seen.push(piece));
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, index) => index));
    stream.write(bytes);
    while (Buffer.concat(seen).length < 5 + 256) await once(stream, "data");
    assert.deepEqual(Buffer.concat(seen), Buffer.concat([Buffer.from("first"), bytes]));
    stream.end();
    await once(stream, "close");
  });

  it("a WebSocket over HTTP/2 that the upstream refuses is answered with its response", async () => {
    const { session } = await start((_request, response) => {
      response.statusCode = 403;
      response.end("no");
    });
    const stream = session.request({ ":method": "CONNECT", ":protocol": "websocket", ":path": "/" });
    const answer = await h2Answer(stream);
    assert.equal(answer.status, 403);
    const plain = await h2Request(session, { ":method": "CONNECT", ":authority": "app.example.com" });
    assert.equal(plain.status, 405);
  });

  it("W4: a WebSocket over HTTP/2 whose upstream answers with bytes that are no HTTP is a 502", async () => {
    const upstream = createServer();
    const raw = createTcpServer((socket) => socket.end("nonsense\r\n\r\n"));
    raw.listen(0);
    await once(raw, "listening");
    upstream.on("request", (_request: IncomingMessage, response: ServerResponse) =>
      response.socket?.end("nonsense\r\n\r\n"),
    );
    const server = await startH2Server(upstream);
    const session = await h2Session(server);
    open.server = server;
    open.session = session;
    const answer = await h2Request(session, { ":path": "/" });
    assert.equal(answer.status, 502);
    raw.close();
  });
});
