/** Services that speak HTTP/2 with prior knowledge, behind our own agent and behind the public SDK. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect as connectHttp2, createSecureServer, createServer } from "node:http2";
import type {
  ClientHttp2Session,
  Http2SecureServer,
  Http2Server,
  Http2Stream,
  IncomingHttpHeaders,
  ServerHttp2Stream,
} from "node:http2";
import { createServer as createTcp } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";
import { after, afterEach, before, describe, it } from "node:test";
import { connect as connectTls } from "node:tls";
import { createServer as createHttp1 } from "../../src/lib/http.ts";
import { errorCode } from "../../src/lib/errors.ts";
import { startAgent } from "../../src/agent/agent.ts";
import type { WatchedRequest } from "../../src/agent/request-watch.ts";
import { parseUpstream } from "../../src/agent/upstream.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLog } from "../../src/lib/log.ts";
import { createAuthority, issueLeaf } from "../../src/lib/certificates/x509.ts";
import { connectAgent } from "../support/agents.ts";
import type { TestAgent } from "../support/agents.ts";
import { startTestEdge } from "../support/edge.ts";
import { block, frame } from "../support/h2-frames.ts";
import { protocols } from "../support/http-client.ts";
import type { Protocol } from "../support/http-client.ts";
import { httpsEdge, newCredential } from "../support/objects.ts";
import type { TestEdge } from "../support/edge.ts";
import { startSdk } from "../support/sdk-process.ts";
import type { SdkProcess } from "../support/sdk-process.ts";

const { token, object } = newCredential();
const stops: (() => unknown)[] = [];
let edge: TestEdge;
let sdk: SdkProcess;

before(async () => {
  edge = await startTestEdge([object, ...httpsEdge("shop", ["shop.example.com"])], { drainMs: 0 });
  sdk = await startSdk();
  await sdk.ask({ name: "connect", port: edge.edge.agent.port, ca: edge.authority.certificatePem, token });
});
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});
after(async () => {
  await sdk.stop();
  await edge.edge.stop();
});

interface Service {
  readonly port: number;
  readonly server: Server | Http2Server | Http2SecureServer;
  readonly sockets: Set<Socket>;
}

async function listening(server: Service["server"]): Promise<Service> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  stops.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, server, sockets };
}

/** Echoes bodies, with the request in the head and a simple checksum at the end. */
function echoing(): Http2Server {
  return answering(createServer({ maxSessionMemory: 1000 }));
}

function answering<T extends Http2Server | Http2SecureServer>(server: T): T {
  server.on("stream", (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    stream.on("error", () => {});
    const path = String(headers[":path"]);
    const size = /^\/bytes\/(\d+)$/.exec(path);
    if (path === "/empty") stream.respond({ ":status": 204 }, { endStream: true });
    else if (path === "/interim") {
      stream.additionalHeaders({ ":status": 103, link: "</a.css>" });
      stream.respond({ ":status": 200 }, { endStream: true });
    } else if (size) {
      stream.respond({ ":status": 200, "content-length": size[1] as string });
      stream.end(Buffer.alloc(Number(size[1]), 97));
    } else if (path === "/reset") {
      stream.respond({ ":status": 200 });
      stream.write("begun");
      setImmediate(() => stream.destroy(new Error("broken off")));
    } else {
      let received = 0;
      const asked = { method: headers[":method"], scheme: headers[":scheme"], authority: headers[":authority"], path };
      stream.respond(
        { ":status": 200, "x-asked": JSON.stringify(asked), "x-te": headers.te, "x-for": headers["x-forwarded-for"] },
        { waitForTrailers: true },
      );
      stream.on("wantTrailers", () => stream.sendTrailers({ "x-received": String(received) }));
      stream.on("data", (bytes: Buffer) => {
        received += bytes.length;
        stream.write(bytes);
      });
      stream.on("end", () => stream.end());
    }
  });
  return server;
}

interface Agent {
  /** Publishes the service, and returns the host name. */
  publish(port: number): Promise<string>;
}

async function connected(port: number): Promise<TestAgent> {
  const agent = await connectAgent(edge, token, port);
  stops.push(() => agent.close());
  return agent;
}

let published = 0;
const agents: Readonly<Record<string, Agent>> = {
  "our own agent": {
    async publish(port) {
      return (await (await connected(port)).bind({ forwardsProto: "http2" })).hostname;
    },
  },
  "the public SDK": {
    async publish(port) {
      published += 1;
      const domain = `sdk${published}.apps.example.com`;
      await sdk.ask({ name: "http", domain, target: port, appProtocol: "http2" });
      stops.push(() => sdk.ask({ name: "closeListener" }));
      return domain;
    },
  },
};

function open(host: string): ClientHttp2Session {
  const { port } = edge.edge.https;
  const ca = edge.authority.certificatePem;
  const session = connectHttp2(`https://${host}`, {
    maxSessionMemory: 1000,
    createConnection: () => connectTls({ host: "127.0.0.1", port, servername: host, ca, ALPNProtocols: ["h2"] }),
  });
  stops.push(() => session.destroy());
  return session;
}

interface Answer {
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly trailers: IncomingHttpHeaders;
}

async function answerOf(stream: Http2Stream): Promise<Answer> {
  let trailers: IncomingHttpHeaders = {};
  stream.on("trailers", (fields: IncomingHttpHeaders) => (trailers = fields));
  const [headers] = (await once(stream, "response")) as [IncomingHttpHeaders];
  const pieces: Buffer[] = [];
  for await (const piece of stream as AsyncIterable<Buffer>) pieces.push(piece);
  return { headers, body: Buffer.concat(pieces), trailers };
}

function ask(session: ClientHttp2Session, host: string, path: string, body?: Buffer, method?: string): Promise<Answer> {
  const stream = session.request(
    { ":path": path, ":authority": host, ":method": method ?? (body ? "POST" : "GET") },
    { endStream: body === undefined },
  );
  if (body) stream.end(body);
  return answerOf(stream);
}

for (const [name, { publish }] of Object.entries(agents)) {
  describe(`a service that speaks HTTP/2 behind ${name}`, { timeout: 60_000 }, () => {
    it(`a service that speaks HTTP/2 behind ${name} receives HTTP/2, whatever the client speaks, and its responses pass`, async () => {
      const { port } = await listening(echoing());
      const host = await publish(port);
      for (const protocol of protocols) {
        assert.deepEqual(await askedOf(protocol, host, "/bytes/5"), { status: 200, body: "aaaaa" });
      }
      const session = open(host);
      const { headers, body, trailers } = await ask(session, host, "/a?b=c", Buffer.from("hello"));
      assert.deepEqual(JSON.parse(String(headers["x-asked"])), {
        method: "POST",
        scheme: "http",
        authority: host,
        path: "/a?b=c",
      });
      assert.deepEqual([headers["x-te"], headers["x-for"]], ["trailers", "127.0.0.1"]);
      assert.equal(body.toString(), "hello");
      assert.equal(trailers["x-received"], "5");
      const empty = await ask(session, host, "/empty");
      assert.deepEqual([empty.headers[":status"], empty.body.length], [204, 0]);
      const described = await ask(session, host, "/bytes/70000", undefined, "HEAD");
      assert.deepEqual([described.headers["content-length"], described.body.length], ["70000", 0]);
      const stream = session.request({ ":path": "/interim", ":authority": host });
      const interim = once(stream, "headers");
      assert.equal((await answerOf(stream)).headers[":status"], 200);
      assert.equal(((await interim) as [IncomingHttpHeaders])[0]["link"], "</a.css>");
    });

    it("transfers more than the windows both ways, in many parallel requests", async () => {
      const { port, sockets } = await listening(echoing());
      const host = await publish(port);
      const session = open(host);
      const large = Buffer.alloc(3_000_000, "abcdefg");
      const asked = Array.from({ length: 20 }, async (_, at) => {
        if (at % 2 === 0) assert.equal((await ask(session, host, "/bytes/2500000")).body.length, 2_500_000);
        else assert.ok((await ask(session, host, "/echo", large)).body.equals(large));
      });
      await Promise.all(asked);
      const used = sockets.size;
      for (let count = 0; count < 10; count += 1) await ask(session, host, "/again");
      assert.equal(sockets.size, used, "connections are used again");
    });

    it(`a service that speaks HTTP/2 behind ${name} can answer before the request ends`, async () => {
      const { port } = await listening(echoing());
      const host = await publish(port);
      const stream = open(host).request({ ":path": "/talk", ":authority": host, ":method": "POST" });
      await once(stream, "response");
      for (const word of ["one", "two", "three"]) {
        stream.write(word);
        assert.equal(String(((await once(stream, "data")) as [Buffer])[0]), word);
      }
      stream.end();
      await once(stream, "end");
    });

    it(`a service that speaks HTTP/2 behind ${name} is distinguished from an unreachable one, and from one that speaks HTTP/1.1`, async () => {
      const dead = await listening(createTcp());
      stops.pop();
      dead.server.close();
      const gone = await askedOf("h1", await publish(dead.port));
      assert.equal(gone.status, 502);
      // The SDK reports that only in HTTP/1.1. With HTTP/2 it ends the connection silently.
      assert.match(
        gone.body,
        name === "our own agent"
          ? new RegExp(errorCode("agent_dial_failed"))
          : new RegExp(errorCode("upstream_refused")),
      );
      const { port } = await listening(createHttp1((_request, response) => response.end("one")));
      const old = await askedOf("h1", await publish(port));
      assert.equal(old.status, 502);
      assert.match(old.body, new RegExp(errorCode("upstream_invalid")));
    });

    it(`a service that speaks HTTP/2 behind ${name} may close between requests, and abort one of them`, async () => {
      const server = echoing();
      const { port } = await listening(server);
      const sessions: { goaway(): void }[] = [];
      server.on("session", (session) => sessions.push(session));
      const host = await publish(port);
      const session = open(host);
      for (let count = 0; count < 5; count += 1) {
        assert.equal((await ask(session, host, "/x")).headers[":status"], 200);
        for (const one of sessions) one.goaway();
      }
      await assert.rejects(ask(session, host, "/reset"));
      assert.equal((await ask(session, host, "/x")).headers[":status"], 200);
    });
  });
}

/** Status and body of a response made at the edge. */
async function askedOf(protocol: Protocol, name: string, path = "/"): Promise<{ status: number; body: string }> {
  const { status, text } = await edge.ask(protocol, { host: name, path });
  return { status, body: text };
}

describe("the agent of a service that speaks HTTP/2", { timeout: 60_000 }, () => {
  it("uses HTTP/2 over TLS as well, and shows its requests", async () => {
    const own = await createAuthority({ commonName: "Own", now: Date.now() });
    const leaf = await issueLeaf(own, { names: ["localhost"], usages: ["serverAuth"], now: Date.now(), days: 1 });
    const { port } = await listening(answering(createSecureServer({ cert: leaf.certificatePem, key: leaf.keyPem })));
    const online = Promise.withResolvers<string>();
    const shown: WatchedRequest[] = [];
    const agent = startAgent({
      server: { host: "127.0.0.1", port: edge.edge.agent.port },
      ca: edge.authority.certificatePem,
      token,
      metadata: "",
      tunnels: [
        {
          name: "test",
          upstream: { ...parseUpstream(`https://localhost:${port}`), http2: true },
          metadata: "",
          publish: { kind: "url", url: undefined },
          status: (status) => status.state === "online" && online.resolve(String(status.url)),
          request: (request) => shown.push(request),
        },
      ],
      version: "0.0.0",
      clock: systemClock,
      log: silentLog,
      random: Math.random,
      retryFirst: false,
      status() {},
    });
    stops.push(() => agent.close());
    const { hostname } = new URL(await online.promise);
    assert.deepEqual(await askedOf("h2", hostname, "/bytes/4"), { status: 200, body: "aaaa" });
    const [one, ...more] = shown;
    assert.deepEqual([one?.method, one?.target, one?.status, more.length], ["GET", "/bytes/4", 200, 0]);
  });
});

describe("an edge whose tunnel forwards HTTP/2", { timeout: 60_000 }, () => {
  it("sends HTTP/2 to the service as well", async () => {
    const { port } = await listening(echoing());
    const agent = await connected(port);
    await agent.session.startLabelled({ labels: { app: "shop" }, forwardsTo: "", forwardsProto: "http2" });
    assert.deepEqual(await askedOf("h1", "shop.example.com", "/bytes/3"), { status: 200, body: "aaa" });
  });

  it("an edge whose tunnel forwards HTTP/2 answers a WebSocket itself, since the service could not", async () => {
    const { port } = await listening(echoing());
    const { hostname } = await (await connected(port)).bind({ forwardsProto: "http2" });
    const socket = connectTls({
      host: "127.0.0.1",
      port: edge.edge.https.port,
      servername: hostname,
      ca: edge.authority.certificatePem,
    });
    stops.push(() => socket.destroy());
    const key = Buffer.alloc(16).toString("base64");
    socket.write(
      `GET /ws HTTP/1.1\r\nHost: ${hostname}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
        `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}\r\n\r\n`,
    );
    assert.match(String(((await once(socket, "data")) as [Buffer])[0]), /^HTTP\/1\.1 502 /);
  });
});

/** Frames of a service that violates HTTP/2, sent after the first request. */
/** A field in HPACK, literal and without indexing. */
const literal = (name: string, value: string): Buffer => block([[name, value]]);
const settings = frame(4, 0, 0);
const ok = Buffer.from([0x88]);
const violations: Readonly<Record<string, readonly Buffer[]>> = {
  "no SETTINGS first": [frame(1, 4, 1, ok)],
  "a header block that cannot be decoded": [
    settings,
    frame(1, 5, 1, Buffer.from([0xff, 0xff, 0xff, 0xff, 0xff, 0xff])),
  ],
  "no status": [settings, frame(1, 5, 1, literal("x-a", "b"))],
  "a status of four digits": [settings, frame(1, 5, 1, literal(":status", "2000"))],
  "a status 101": [settings, frame(1, 4, 1, literal(":status", "101"))],
  "a pseudo-field of requests": [settings, frame(1, 5, 1, ok, literal(":path", "/"))],
  "a connection field": [settings, frame(1, 5, 1, ok, literal("connection", "close"))],
  "a transfer coding": [settings, frame(1, 5, 1, ok, literal("transfer-encoding", "chunked"))],
  "a line break in a field": [settings, frame(1, 5, 1, ok, literal("x-a", "b\r\nx-evil: c"))],
  "a capital in a name": [settings, frame(1, 5, 1, ok, literal("X-A", "b"))],
  "two lengths": [settings, frame(1, 4, 1, ok, literal("content-length", "1"), literal("content-length", "2"))],
  "DATA before the head": [settings, frame(0, 1, 1, Buffer.from("early"))],
  "more DATA than its length": [
    settings,
    frame(1, 4, 1, ok, literal("content-length", "1")),
    frame(0, 1, 1, Buffer.from("ab")),
  ],
  "less DATA than its length": [settings, frame(1, 5, 1, ok, literal("content-length", "1"))],
  "DATA behind a 204": [settings, frame(1, 4, 1, Buffer.from([0x89])), frame(0, 1, 1, Buffer.from("a"))],
  PUSH_PROMISE: [settings, frame(5, 4, 1, Buffer.alloc(4), ok)],
  "a stream of its own": [settings, frame(1, 5, 2, ok)],
  "a stream that was not asked for": [settings, frame(1, 5, 3, ok)],
  "a frame that is too large": [settings, frame(0, 0, 1, Buffer.alloc(16_385))],
  "a window of nothing": [settings, frame(8, 0, 0, Buffer.alloc(4))],
  "a window that is too large": [settings, frame(8, 0, 0, Buffer.from([0x7f, 0xff, 0xff, 0xff]))],
  "pings without end": [settings, ...Array.from({ length: 300 }, () => frame(6, 0, 0, Buffer.alloc(8)))],
  "settings without end": Array.from({ length: 300 }, () => settings),
  "empty frames without end": [settings, frame(1, 4, 1, ok), ...Array.from({ length: 300 }, () => frame(0, 0, 1))],
  "a header block without end": [settings, frame(1, 0, 1, ok), ...Array.from({ length: 40 }, () => frame(9, 0, 1, ok))],
  "a frame inside a header block": [settings, frame(1, 0, 1, ok), frame(6, 0, 0, Buffer.alloc(8))],
};

/** Frames of HTTP/2 that come on a connection, behind the preface. */
function eachFrame(socket: Socket, take: (type: number, streamId: number) => void): void {
  let rest = Buffer.alloc(0);
  let isGreeted = false;
  socket.on("data", (bytes: Buffer) => {
    rest = Buffer.concat([rest, bytes]);
    if (!isGreeted && rest.length < 24) return;
    if (!isGreeted) rest = rest.subarray(24);
    isGreeted = true;
    while (rest.length >= 9 && rest.length >= 9 + rest.readUIntBE(0, 3)) {
      take(rest.readUInt8(3), rest.readUInt32BE(5));
      rest = rest.subarray(9 + rest.readUIntBE(0, 3));
    }
  });
}

describe("a service of HTTP/2 that declares a length and ends the stream later", { timeout: 60_000 }, () => {
  const ends: Readonly<Record<string, (streamId: number) => Buffer>> = {
    "with trailers": (id) => frame(1, 5, id, literal("x-after", "all")),
    "with an empty frame": (id) => frame(0, 1, id),
  };
  for (const protocol of protocols)
    for (const [how, end] of Object.entries(ends))
      it(`a service of HTTP/2 that declares a length is asked again when its stream has ended, over ${protocol}, ${how}`, async () => {
        let refused = 0;
        let served = 0;
        const { port } = await listening(
          createTcp((socket) => {
            let isOpen = false;
            socket.write(settings);
            eachFrame(socket, (type, id) => {
              if (type !== 1) return;
              if (isOpen) {
                refused += 1;
                socket.write(frame(3, 0, id, Buffer.from([0, 0, 0, 7])));
                return;
              }
              isOpen = true;
              served += 1;
              socket.write(
                Buffer.concat([
                  frame(1, 4, id, ok, literal("content-length", "5")),
                  frame(0, 0, id, Buffer.from("all")),
                ]),
              );
              socket.write(frame(0, 0, id, Buffer.from("of")));
              setTimeout(() => {
                isOpen = false;
                socket.write(end(id));
              }, 10);
            });
          }),
        );
        const { hostname } = await (await connected(port)).bind({ forwardsProto: "http2" });
        for (let count = 0; count < 3; count += 1) {
          assert.deepEqual(await askedOf(protocol, hostname), { status: 200, body: "allof" });
        }
        assert.deepEqual([served, refused], [3, 0]);
      });
});

describe("W4: a service that violates HTTP/2", { timeout: 60_000 }, () => {
  for (const [what, frames] of Object.entries(violations)) {
    it(`W4: a service that violates HTTP/2 is disconnected for ${what}, and the client gets no response of it`, async () => {
      const { port } = await listening(
        createTcp((socket) => {
          socket.once("data", () => socket.write(Buffer.concat(frames)));
        }),
      );
      const { hostname } = await (await connected(port)).bind({ forwardsProto: "http2" });
      const outcome = await askedOf("h1", hostname).then(
        ({ status, body }) => `${status} ${body}`,
        () => "cut",
      );
      assert.match(outcome, new RegExp(`^(?:502 .*${errorCode("upstream_invalid")}|cut$)`, "s"));
    });
  }

  for (const protocol of protocols) {
    it(`a service of HTTP/2 receives the path as it was spelled over ${protocol}, without dot segments`, async () => {
      const { port } = await listening(echoing());
      const { hostname } = await (await connected(port)).bind({ forwardsProto: "http2" });
      for (const [sent, forwarded] of [
        ["/a%2Bb%3A|%7e?x=%2b", "/a%2Bb%3A|%7e?x=%2b"],
        ["/a%2Fb/%FF/../%C3%A9", "/a%2Fb/%C3%A9"],
      ] as const) {
        const { headers } = await edge.ask(protocol, { host: hostname, path: sent });
        assert.equal((JSON.parse(String(headers["x-asked"])) as { path: string }).path, forwarded);
      }
    });
  }

  it("a service of HTTP/2 whose header is over the limit is answered 502 with the number", async () => {
    const server = createServer().on("stream", (stream: ServerHttp2Stream) => {
      stream.respond({ ":status": 200, "x-long": "a".repeat(40_000) });
      stream.end("never");
    });
    const { port } = await listening(server);
    const { hostname } = await (await connected(port)).bind({ forwardsProto: "http2" });
    const { status, body } = await askedOf("h1", hostname);
    assert.equal(status, 502);
    assert.match(body, /header is larger than 32768 bytes or 128 fields/);
  });
});
