import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { systemClock } from "../lib/clock.ts";
import type { InspectedExchange } from "./inspected-exchange.ts";
import { ExchangeFollower } from "./exchange-follower.ts";
import { ExchangeStore } from "./exchange-store.ts";
import { makeTextSearch } from "./text-search.ts";

/** A request without a body, with a response and its body. */
function answeredWith(fields: string, body: Buffer, asks = "", status = "200 OK"): InspectedExchange {
  const store = new ExchangeStore(systemClock);
  const one = new ExchangeFollower({ tunnel: "web", client: "", hasPreamble: false, clock: systemClock, store });
  one.fromServer(Buffer.from(`GET /a HTTP/1.1\r\nHost: a.test\r\nAuthorization: Bearer Sesame\r\n${asks}\r\n`));
  one.fromService(Buffer.concat([Buffer.from(`HTTP/1.1 ${status}\r\n${fields}\r\n\r\n`), body]));
  return store.list(1)[0] as InspectedExchange;
}

const withLength = (fields: string, body: Buffer): InspectedExchange =>
  answeredWith(`${fields}\r\nContent-Length: ${body.length}`, body);
const finds = (exchange: InspectedExchange, text: string): boolean => makeTextSearch(text)(exchange);
/** Compressed bodies do not contain this text literally. */
const text = Buffer.from(`a grüne ${"Nadel".repeat(100)} in a heap of hay`);

function grpc(message: Buffer, flag: number): Buffer {
  const prefix = Buffer.from([flag, 0, 0, 0, 0]);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

/** A frame of a WebSocket. With `mask` it is masked, as visitors' frames are. */
function frame(first: number, payload: Buffer, mask?: Buffer): Buffer {
  const masked = Buffer.from(payload.map((byte, at) => (mask ? byte ^ (mask[at & 3] as number) : byte)));
  return Buffer.concat([Buffer.from([first, payload.length | (mask ? 0x80 : 0)]), mask ?? Buffer.alloc(0), masked]);
}

/** A WebSocket on which the service sent this text. */
function chat(said: Buffer, extension: string): InspectedExchange {
  return answeredWith(
    `Connection: Upgrade\r\nUpgrade: websocket\r\n${extension}`,
    said,
    "Connection: Upgrade\r\nUpgrade: websocket\r\n",
    "101 Switching",
  );
}

describe("the search in captured exchanges", () => {
  it("the search in captured exchanges finds text in heads and bodies in any case, and skips credentials", () => {
    const exchange = withLength("X-Note: Here", text);
    for (const wanted of ["get /A", "x-note: HERE", "GRüNE nadel"]) assert.ok(finds(exchange, wanted), wanted);
    for (const wanted of ["sesame", "nothing"]) assert.ok(!finds(exchange, wanted), wanted);
  });

  for (const [coding, packed] of [
    ["gzip", gzipSync(text)],
    ["x-gzip", gzipSync(text)],
    ["deflate", deflateSync(text)],
    ["br", brotliCompressSync(text)],
    ["zstd", zstdCompressSync(text)],
  ] as const) {
    it(`the search in captured exchanges decodes ${coding}`, () => {
      assert.ok(finds(withLength(`Content-Encoding: ${coding}`, packed), "nadelnadelnadel"));
      assert.ok(!finds(withLength("Content-Type: text/plain", packed), "nadelnadelnadel"));
    });
  }

  it("the search in captured exchanges continues after a body that is not decodable or decodes to too much", () => {
    assert.ok(!finds(withLength("Content-Encoding: gzip", Buffer.from("no gzip")), "nadelnadelnadel"));
    const bomb = gzipSync(Buffer.concat([Buffer.alloc(4_000_000), text]));
    const search = makeTextSearch("nadelnadelnadel");
    for (let round = 0; round < 40; round += 1) assert.ok(!search(withLength("Content-Encoding: gzip", bomb)));
    // By now the search has used its decoding budget. It still searches unencoded bytes.
    assert.ok(!search(withLength("Content-Encoding: gzip", gzipSync(text))));
    assert.ok(search(withLength("Content-Type: text/plain", text)));
  });

  it("the search in captured exchanges has the same decoding budget for WebSockets as for bodies", () => {
    const packed = (plain: Buffer): Buffer => deflateRawSync(plain, { finishFlush: 2 }).subarray(0, -4);
    const message = (plain: Buffer): Buffer => {
      const payload = packed(plain);
      return Buffer.concat([Buffer.from([0xc1, 126, payload.length >> 8, payload.length & 255]), payload]);
    };
    const extension = "Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover";
    const search = makeTextSearch("nadelnadelnadel");
    assert.ok(search(chat(message(text), extension)));
    // Each exceeds the limit of one message, so decoding yields nothing.
    const bombs = Buffer.concat(Array.from({ length: 4 }, () => message(Buffer.alloc(4_000_000))));
    for (let round = 0; round < 10; round += 1) assert.ok(!search(chat(bombs, extension)));
    assert.ok(!search(chat(message(text), extension)));
    assert.ok(search(withLength("Content-Type: text/plain", text)));
  });

  it("the search in captured exchanges covers gRPC messages, also compressed ones and gRPC-Web", () => {
    const packed = grpc(gzipSync(text), 1);
    assert.ok(finds(withLength("Content-Type: application/grpc\r\nGrpc-Encoding: gzip", packed), "nadelnadelnadel"));
    assert.ok(!finds(withLength("Content-Type: application/grpc", packed), "nadelnadelnadel"));
    const web = Buffer.from(grpc(text, 0).toString("base64"));
    assert.ok(finds(withLength("Content-Type: application/grpc-web-text+proto", web), "nadelnadelnadel"));
    assert.ok(!finds(withLength("Content-Type: text/plain", web), "nadelnadelnadel"));
  });

  for (const isPacked of [false, true]) {
    it(`the search in captured exchanges covers WebSocket messages, ${isPacked ? "compressed" : "masked"}, across frames`, () => {
      const store = new ExchangeStore(systemClock);
      const one = new ExchangeFollower({ tunnel: "web", client: "", hasPreamble: false, clock: systemClock, store });
      one.fromServer(
        Buffer.from("GET /chat HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"),
      );
      const extension = isPacked ? "Sec-WebSocket-Extensions: permessage-deflate\r\n" : "";
      one.fromService(
        Buffer.from(`HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${extension}\r\n`),
      );
      const said = (words: string): Buffer => {
        const plain = Buffer.from(words);
        return isPacked ? deflateRawSync(plain, { finishFlush: 2 }).subarray(0, -4) : plain;
      };
      const mask = Buffer.from([1, 2, 3, 4]);
      const [asked, answered] = [said("where is the needle"), said("in the haystack")];
      one.fromServer(frame(isPacked ? 0x41 : 0x01, asked.subarray(0, 15), mask));
      one.fromServer(frame(0x80, asked.subarray(15), mask));
      one.fromService(frame(isPacked ? 0xc1 : 0x81, answered));
      const exchange = store.list(1)[0] as InspectedExchange;
      for (const wanted of ["THE NEEDLE", "haystack"]) assert.ok(finds(exchange, wanted), wanted);
      assert.ok(!finds(exchange, "thread"));
    });
  }
});
