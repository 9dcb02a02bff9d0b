/** Frames that HTTP/2 forbids never reach the upstream (security W3; RFC 9113). */
import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { createServer } from "../../src/lib/http.ts";
import type { Exchange } from "../../src/traffic/exchange.ts";
import { passStep } from "../../src/traffic/step.ts";
import type { Step } from "../../src/traffic/step.ts";
import { block, codes, flags, frame, RawH2, settings, types, uint32 } from "../support/h2-frames.ts";
import type { Frame } from "../support/h2-frames.ts";
import { startH2Server } from "../support/h2-server.ts";
import type { H2Server } from "../support/h2-server.ts";

type Field = readonly [string, string];

let server: H2Server;
let raw: RawH2;
let forwarded: string[];

before(async () => {
  const upstream = createServer((request, response) => {
    forwarded.push(`${request.method} ${request.url}`);
    request.resume();
    request.on("end", () => response.end("answer"));
    request.on("error", () => {});
  });
  const undecided = new Promise<Step>(() => {});
  const hold = {
    request: ({ request }: Exchange) => (request.path === "/held" ? undecided : passStep("hold", "let go")),
  };
  server = await startH2Server(upstream, { request: [hold] });
});
after(() => server.stop());
afterEach(() => raw.destroy());

async function connected(): Promise<RawH2> {
  forwarded = [];
  raw = await RawH2.open(server);
  return raw;
}

/** Outcome of stream `id`: its reset code, or the status of its response. */
async function outcome(id: number): Promise<string> {
  const end = await raw.take(
    (one) =>
      (one.id === id && (one.type === types.rstStream || one.type === types.headers)) || one.type === types.goaway,
  );
  if (end === undefined) return "closed";
  if (end.type === types.rstStream) return `reset ${end.payload.readUInt32BE(0)}`;
  if (end.type === types.goaway) return `goaway ${end.payload.readUInt32BE(4)}`;
  return `status ${statusOf(end)}`;
}

/** `:status` as our encoder writes it. */
function statusOf({ payload }: Frame): number {
  const indexed: Record<number, number> = {
    0x88: 200,
    0x89: 204,
    0x8a: 206,
    0x8b: 304,
    0x8c: 400,
    0x8d: 404,
    0x8e: 500,
  };
  return indexed[payload[0] as number] ?? Number(payload.toString("latin1", 2, 5));
}

const base: readonly Field[] = [
  [":method", "GET"],
  [":scheme", "https"],
  [":authority", "app.example.com"],
  [":path", "/"],
];

function without(name: string): Field[] {
  return base.filter(([one]) => one !== name);
}

function replaced(name: string, value: string): Field[] {
  return base.map(([one, old]) => [one, one === name ? value : old] as const);
}

describe("a malformed HTTP/2 request", () => {
  const resets: Record<string, readonly Field[]> = {
    "CR in a value": [...base, ["x-a", "b\rc"]],
    "LF in a value": [...base, ["x-a", "b\nc"]],
    "NUL in a value": [...base, ["x-a", "b\0c"]],
    "a whole field smuggled in a value": [...base, ["x-a", "b\r\nx-evil: 1"]],
    "a request smuggled in a value": [...base, ["x-a", "b\r\n\r\nGET /evil HTTP/1.1\r\nHost: x\r\n\r\n"]],
    "a blank in front of a value": [...base, ["x-a", " b"]],
    "a tab behind a value": [...base, ["x-a", "b\t"]],
    "CR LF in a name": [...base, ["x-a\r\nx-evil", "b"]],
    "a space in a name": [...base, ["x a", "b"]],
    "a colon in a name": [...base, ["x-a:", "b"]],
    "NUL in a name": [...base, ["x-a\0", "b"]],
    "an empty name": [...base, ["", "b"]],
    "a capital in a name": [...base, ["X-A", "b"]],
    "a non-ASCII name": [...base, ["x-\xe4", "b"]],
    "CR LF in :path": replaced(":path", "/a\r\nHost: evil"),
    "a space in :path": replaced(":path", "/a b"),
    "a space and a version in :path": replaced(":path", "/ HTTP/1.1\r\nx: y"),
    "a fragment in :path": replaced(":path", "/a#b"),
    "a non-ASCII :path": replaced(":path", "/\xe4"),
    "an empty :path": replaced(":path", ""),
    "a :path that is no path": replaced(":path", "https://app.example.com/"),
    "an asterisk as :path of GET": replaced(":path", "*"),
    "a space in :method": replaced(":method", "GET /evil HTTP/1.1"),
    "CR LF in :method": replaced(":method", "GET\r\n"),
    "an empty :method": replaced(":method", ""),
    "CR LF in :authority": replaced(":authority", "app.example.com\r\nx: y"),
    "another :scheme": replaced(":scheme", "http"),
    "no :method": without(":method"),
    "no :scheme": without(":scheme"),
    "no :path": without(":path"),
    "no :authority and no host": without(":authority"),
    "a repeated :path": [...base, [":path", "/b"]],
    "a repeated :method": [...base, [":method", "POST"]],
    "a repeated :authority": [...base, [":authority", "app.example.com"]],
    "a pseudo-field behind a field": [...without(":path"), ["x-a", "b"], [":path", "/"]],
    "a response's pseudo-field": [...base, [":status", "200"]],
    "an unknown pseudo-field": [...base, [":evil", "1"]],
    connection: [...base, ["connection", "close"]],
    "keep-alive": [...base, ["keep-alive", "timeout=5"]],
    "proxy-connection": [...base, ["proxy-connection", "keep-alive"]],
    "transfer-encoding": [...base, ["transfer-encoding", "chunked"]],
    upgrade: [...base, ["upgrade", "h2c"]],
    "te other than trailers": [...base, ["te", "gzip"]],
    "two content-length": [...base, ["content-length", "0"], ["content-length", "0"]],
    "a content-length that is no number": [...base, ["content-length", "+1"]],
    "a content-length with a list": [...base, ["content-length", "1, 1"]],
    "a content-length without end": [...base, ["content-length", "9".repeat(30)]],
    "a content-length and no DATA": [...base, ["content-length", "5"]],
    ":protocol without CONNECT": [...base, [":protocol", "websocket"]],
    "CONNECT with a path": replaced(":method", "CONNECT"),
  };
  for (const [what, fields] of Object.entries(resets)) {
    it(`W3: a malformed HTTP/2 request is reset: ${what}`, async () => {
      const client = await connected();
      client.request(1, fields);
      assert.equal(await outcome(1), `reset ${codes.protocolError}`);
      // The connection and its compression state continue.
      client.request(3, base);
      assert.equal(await outcome(3), "status 200");
      assert.deepEqual(forwarded, ["GET /"]);
    });
  }

  const refusals: Record<string, readonly Field[]> = {
    "user information in :authority": replaced(":authority", "user:secret@app.example.com"),
    "a path in :authority": replaced(":authority", "app.example.com/evil"),
    "a space in :authority": replaced(":authority", "app.example.com evil"),
    "an empty :authority": replaced(":authority", ""),
    "a host other than :authority": [...base, ["host", "other.example.com"]],
    "a second host": [...base, ["host", "app.example.com"], ["host", "app.example.com"]],
    "a port in host only": [...base, ["host", "app.example.com:443"]],
    "the asterisk form": replaced(":path", "*").map(([name, value]): Field => [
      name,
      name === ":method" ? "OPTIONS" : value,
    ]),
    "another protocol to connect to": [...replaced(":method", "CONNECT"), [":protocol", "connect-udp"]].toSorted(
      ([one], [other]) => Number(other?.startsWith(":")) - Number(one?.startsWith(":")),
    ) as Field[],
  };
  for (const [what, fields] of Object.entries(refusals)) {
    it(`W3: a malformed HTTP/2 request gets 400: ${what}`, async () => {
      const client = await connected();
      client.request(1, fields);
      assert.equal(await outcome(1), "status 400");
      client.request(3, base);
      assert.equal(await outcome(3), "status 200");
      assert.deepEqual(forwarded, ["GET /"]);
    });
  }

  it("W3: an HTTP/2 request whose host equals :authority, or that has only host, is accepted", async () => {
    const client = await connected();
    client.request(1, [...base, ["host", "APP.example.com"]]);
    client.request(3, [...without(":authority"), ["host", "app.example.com"]]);
    client.request(5, [...base, ["te", "trailers"]]);
    for (const id of [1, 3, 5]) assert.equal(await outcome(id), "status 200");
  });

  it("W3: a malformed HTTP/2 request is also reset if its invalid field comes from the table", async () => {
    const client = await connected();
    const bad = Buffer.concat([block(base), block([["x-a", "b\nc"]], 0x40)]);
    client.send(frame(types.headers, flags.endHeaders | flags.endStream, 1, bad));
    assert.equal(await outcome(1), `reset ${codes.protocolError}`);
    client.send(
      frame(types.headers, flags.endHeaders | flags.endStream, 3, Buffer.concat([block(base), Buffer.from([0xbe])])),
    );
    assert.equal(await outcome(3), `reset ${codes.protocolError}`);
    client.request(5, base);
    assert.equal(await outcome(5), "status 200");
    assert.deepEqual(forwarded, ["GET /"]);
  });

  for (const [what, sizes] of Object.entries({ more: [3, 4], less: [2, 2] })) {
    it(`W3: a malformed HTTP/2 request with ${what} DATA than its content-length never completes at the upstream`, async () => {
      const client = await connected();
      client.request(1, [...replaced(":method", "POST"), ["content-length", "5"]], false);
      for (const [index, size] of sizes.entries()) {
        client.send(frame(types.data, index === 1 ? flags.endStream : 0, 1, Buffer.alloc(size, "x")));
      }
      assert.equal(await outcome(1), `reset ${codes.protocolError}`);
      assert.ok(await client.settled());
    });
  }

  const trailers: Record<string, readonly Field[]> = {
    "a pseudo-field": [[":path", "/evil"]],
    "transfer-encoding": [["transfer-encoding", "chunked"]],
    "CR LF": [["x-a", "b\r\nc"]],
  };
  for (const [what, fields] of Object.entries(trailers)) {
    it(`W3: a malformed HTTP/2 request with ${what} in its trailers is reset`, async () => {
      const client = await connected();
      client.request(1, replaced(":method", "POST"), false);
      client.send(frame(types.data, 0, 1, Buffer.from("body")));
      client.send(frame(types.headers, flags.endHeaders | flags.endStream, 1, block(fields)));
      assert.equal(await outcome(1), `reset ${codes.protocolError}`);
    });
  }

  it("a malformed HTTP/2 request that does not end with its trailers is reset", async () => {
    const client = await connected();
    client.request(1, replaced(":method", "POST"), false);
    client.send(frame(types.headers, flags.endHeaders, 1, block([["x-a", "b"]])));
    assert.equal(await outcome(1), `reset ${codes.protocolError}`);
  });
});

describe("frames that HTTP/2 forbids", () => {
  const request = (id: number, ended = true): Buffer =>
    frame(types.headers, flags.endHeaders | (ended ? flags.endStream : 0), id, block(base));
  const window = (id: number, value: number): Buffer => frame(types.windowUpdate, 0, id, uint32(value));

  const fatal: Record<string, { readonly frames: readonly Buffer[]; readonly code: number }> = {
    "DATA on stream 0": { frames: [frame(types.data, 0, 0, Buffer.from("x"))], code: codes.protocolError },
    "DATA on an idle stream": { frames: [frame(types.data, 0, 1, Buffer.from("x"))], code: codes.protocolError },
    "HEADERS on stream 0": { frames: [frame(types.headers, 5, 0, block(base))], code: codes.protocolError },
    "HEADERS on an even stream": { frames: [request(2)], code: codes.protocolError },
    "HEADERS that depend on themselves": {
      frames: [frame(types.headers, 0x25, 1, Buffer.concat([uint32(1), Buffer.from([0]), block(base)]))],
      code: codes.protocolError,
    },
    "PRIORITY that depends on itself": {
      frames: [frame(types.priority, 0, 1, Buffer.concat([uint32(1), Buffer.from([0])]))],
      code: codes.protocolError,
    },
    "PRIORITY of wrong length": { frames: [frame(types.priority, 0, 1, Buffer.alloc(4))], code: codes.frameSizeError },
    "padding longer than its frame": {
      frames: [frame(types.headers, 0xd, 1, Buffer.from([200, 0x82]))],
      code: codes.protocolError,
    },
    "DATA padding longer than its frame": {
      frames: [request(1, false), frame(types.data, flags.padded, 1, Buffer.from([9, 1, 2]))],
      code: codes.protocolError,
    },
    "a frame larger than was announced": {
      frames: [request(1, false), frame(types.data, 0, 1, Buffer.alloc(16_385))],
      code: codes.frameSizeError,
    },
    "RST_STREAM on an idle stream": { frames: [frame(types.rstStream, 0, 1, uint32(8))], code: codes.protocolError },
    "RST_STREAM of wrong length": {
      frames: [request(1), frame(types.rstStream, 0, 1, Buffer.alloc(5))],
      code: codes.frameSizeError,
    },
    "SETTINGS on a stream": { frames: [frame(types.settings, 0, 1)], code: codes.protocolError },
    "SETTINGS of odd length": { frames: [frame(types.settings, 0, 0, Buffer.alloc(5))], code: codes.frameSizeError },
    "an acknowledgement with a payload": {
      frames: [frame(types.settings, flags.ack, 0, Buffer.alloc(6))],
      code: codes.frameSizeError,
    },
    "a push setting of 2": { frames: [frame(types.settings, 0, 0, settings([2, 2]))], code: codes.protocolError },
    "a window setting over 2^31-1": {
      frames: [frame(types.settings, 0, 0, settings([4, 0x80000000]))],
      code: codes.flowControlError,
    },
    "a frame size setting below the least": {
      frames: [frame(types.settings, 0, 0, settings([5, 16_383]))],
      code: codes.protocolError,
    },
    "PING on a stream": { frames: [frame(types.ping, 0, 1, Buffer.alloc(8))], code: codes.protocolError },
    "PING of wrong length": { frames: [frame(types.ping, 0, 0, Buffer.alloc(7))], code: codes.frameSizeError },
    "GOAWAY on a stream": { frames: [frame(types.goaway, 0, 1, Buffer.alloc(8))], code: codes.protocolError },
    PUSH_PROMISE: { frames: [frame(types.pushPromise, 4, 1, Buffer.alloc(8))], code: codes.protocolError },
    "a WINDOW_UPDATE of 0 bytes": { frames: [window(0, 0)], code: codes.protocolError },
    "WINDOW_UPDATE on an idle stream": { frames: [window(1, 1)], code: codes.protocolError },
    "WINDOW_UPDATE of wrong length": {
      frames: [frame(types.windowUpdate, 0, 0, Buffer.alloc(3))],
      code: codes.frameSizeError,
    },
    "a connection window over 2^31-1": { frames: [window(0, 0x7fffffff)], code: codes.flowControlError },
    "CONTINUATION of nothing": { frames: [frame(types.continuation, 4, 1, block(base))], code: codes.protocolError },
    "a frame inside a header block": {
      frames: [frame(types.headers, 1, 1, block(base)), frame(types.ping, 0, 0, Buffer.alloc(8))],
      code: codes.protocolError,
    },
    "another stream's CONTINUATION": {
      frames: [frame(types.headers, 1, 1, block(base)), frame(types.continuation, 4, 3, block(base))],
      code: codes.protocolError,
    },
    "DATA inside a header block": {
      frames: [request(1, false), frame(types.headers, 1, 3, block(base)), frame(types.data, 0, 1, Buffer.from("x"))],
      code: codes.protocolError,
    },
    "a header block that cannot be decoded": {
      frames: [frame(types.headers, 5, 1, Buffer.from([0x80]))],
      code: codes.compressionError,
    },
  };
  for (const [what, { frames, code }] of Object.entries(fatal)) {
    it(`frames that HTTP/2 forbids end the connection: ${what}`, async () => {
      const client = await connected();
      client.send(...frames);
      assert.equal(await client.goawayCode(), code);
      await client.closed();
      assert.equal(server.context.counters.openExchanges, 0);
    });
  }

  it("D2: frames that HTTP/2 forbids end the connection: no preface, no SETTINGS, an unfinished preface that takes too long", async () => {
    raw = await RawH2.connect(server);
    raw.send(Buffer.from("GET / HTTP/1.1\r\nHost: app.example.com\r\n\r\n"));
    assert.equal(await raw.goawayCode(), codes.protocolError);
    raw.destroy();
    raw = await RawH2.connect(server);
    raw.send(Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), frame(types.ping, 0, 0, Buffer.alloc(8)));
    assert.equal(await raw.goawayCode(), codes.protocolError);
    raw.destroy();
    raw = await RawH2.connect(server);
    raw.send(Buffer.from("PRI * HTTP"));
    assert.ok(await raw.takeType(types.settings));
    server.clock.pass(10_000);
    assert.equal(await raw.goawayCode(), codes.protocolError);
  });

  it("frames that HTTP/2 forbids on a closed stream are an error of the connection, or ignored where they may have been under way", async () => {
    const client = await connected();
    client.request(1);
    assert.equal(await outcome(1), "status 200");
    await client.take((one) => one.id === 1 && (one.flags & flags.endStream) !== 0);
    client.send(window(1, 5), frame(types.rstStream, 0, 1, uint32(8)));
    assert.ok(await client.settled());
    client.send(frame(types.data, 0, 1, Buffer.from("x")));
    assert.equal(await client.goawayCode(), codes.streamClosed);
  });

  it("frames that HTTP/2 forbids behind the end of a stream reset it", async () => {
    const client = await connected();
    const stalled: Buffer[] = [frame(types.data, 0, 1, Buffer.from("x"))];
    client.send(request(1), ...stalled);
    assert.equal(await outcome(1), `reset ${codes.streamClosed}`);
    client.send(request(3), request(3));
    assert.equal(await outcome(3), `reset ${codes.streamClosed}`);
  });

  it("D1: DATA that exceeds a stream's window of 64 KiB resets it, and DATA that exceeds the connection's 1 MiB ends the connection", async () => {
    const client = await connected();
    const full = Array.from({ length: 4 }, () => Buffer.alloc(16_384));
    const post = replaced(":method", "POST").map(
      ([name, value]) => [name, name === ":path" ? "/held" : value] as const,
    );
    client.request(1, post, false);
    client.send(...full.map((bytes) => frame(types.data, 0, 1, bytes)));
    assert.ok(await client.settled());
    assert.equal(
      client.rest.find(({ type }) => type === types.rstStream),
      undefined,
    );
    client.send(frame(types.data, 0, 1, Buffer.from("x")));
    assert.equal(await outcome(1), `reset ${codes.flowControlError}`);
    for (let id = 3; id < 3 + 2 * 14; id += 2) {
      client.request(id, post, false);
      client.send(...full.map((bytes) => frame(types.data, 0, id, bytes)));
    }
    assert.ok(await client.settled());
    client.request(99, post, false);
    client.send(...full.map((bytes) => frame(types.data, 0, 99, bytes)));
    assert.equal(await client.goawayCode(), codes.flowControlError);
  });

  it("HTTP/2 frames of unknown types are ignored, and so are unknown settings", async () => {
    const client = await connected();
    client.send(frame(0x77, 0xff, 1, Buffer.alloc(100)), frame(types.settings, 0, 0, settings([0x99, 5])));
    client.request(1);
    assert.equal(await outcome(1), "status 200");
  });

  it("HTTP/2 frames that are cut into single bytes are read all the same", async () => {
    raw = await RawH2.connect(server);
    forwarded = [];
    const bytes = Buffer.concat([
      Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
      frame(types.settings, 0, 0, settings([4, 100])),
      frame(
        types.headers,
        flags.padded,
        1,
        Buffer.concat([Buffer.from([3]), block(replaced(":method", "POST")), Buffer.alloc(3)]),
      ),
      frame(types.continuation, flags.endHeaders, 1, block([["x-a", "b"]])),
      frame(types.data, flags.padded, 1, Buffer.concat([Buffer.from([2]), Buffer.from("body"), Buffer.alloc(2)])),
      frame(types.data, flags.endStream, 1),
    ]);
    raw.socket.setNoDelay(true);
    for (const byte of bytes) raw.socket.write(Buffer.from([byte]));
    assert.equal(await outcome(1), "status 200");
    assert.deepEqual(forwarded, ["POST /"]);
  });
});
