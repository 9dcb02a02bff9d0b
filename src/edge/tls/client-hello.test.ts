import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, it } from "node:test";
import { captureHello } from "../../../test/support/client-hello.ts";
import { peekClientHello } from "./client-hello.ts";

const modern = await captureHello({ servername: "Shop.Example.com", ALPNProtocols: ["h2", "http/1.1"] });
const old = await captureHello({ servername: "old.example.com", maxVersion: "TLSv1.2" });
const nameless = await captureHello({});

/** Splits the same handshake message into records of the given sizes. */
function rerecord(hello: Buffer, sizes: () => number): Buffer {
  const message = hello.subarray(5);
  const records: Buffer[] = [];
  for (let at = 0; at < message.length;) {
    const size = Math.min(Math.max(1, sizes()), message.length - at);
    records.push(Buffer.from([22, 3, 1, size >> 8, size & 255]), message.subarray(at, at + size));
    at += size;
  }
  return Buffer.concat(records);
}

/** Returns `hello` with the extension `type` set to `value`. */
function withExtension(hello: Buffer, type: number, value: Buffer, keep = false): Buffer {
  const at = extensionsOffset(hello);
  const extensions: Buffer[] = [];
  for (let from = at + 2; from < hello.length;) {
    const end = from + 4 + hello.readUInt16BE(from + 2);
    if (keep || hello.readUInt16BE(from) !== type) extensions.push(hello.subarray(from, end));
    from = end;
  }
  const head = Buffer.alloc(4);
  head.writeUInt16BE(type);
  head.writeUInt16BE(value.length, 2);
  const all = Buffer.concat([...extensions, head, value]);
  const length = Buffer.alloc(2);
  length.writeUInt16BE(all.length);
  const out = Buffer.concat([hello.subarray(0, at), length, all]);
  out.writeUInt16BE(out.length - 5, 3);
  out.writeUIntBE(out.length - 9, 6, 3);
  return out;
}

function extensionsOffset(hello: Buffer): number {
  let at = 5 + 4 + 2 + 32;
  at += 1 + (hello[at] as number);
  at += 2 + hello.readUInt16BE(at);
  return at + 1 + (hello[at] as number);
}

function serverNameValue(...names: readonly (string | Buffer)[]): Buffer {
  const entries = names.map((name) => {
    const bytes = Buffer.from(name as string);
    return Buffer.concat([Buffer.from([0, bytes.length >> 8, bytes.length & 255]), bytes]);
  });
  const list = Buffer.concat(entries);
  return Buffer.concat([Buffer.from([list.length >> 8, list.length & 255]), list]);
}

function stateOf(bytes: Buffer): string {
  return peekClientHello(bytes).state;
}

/** Returns the number of extensions. */
function countOf(hello: Buffer): number {
  let count = 0;
  for (let at = extensionsOffset(hello) + 2; at < hello.length; count += 1) at += 4 + hello.readUInt16BE(at + 2);
  return count;
}

function nameOf(bytes: Buffer): string | undefined {
  const peek = peekClientHello(bytes);
  return peek.state === "hello" ? peek.hello.serverName : undefined;
}

describe("the peek at a ClientHello", () => {
  it("the peek at a ClientHello finds server name, protocols and versions", () => {
    const peek = peekClientHello(modern);
    assert.ok(peek.state === "hello");
    assert.equal(peek.hello.serverName, "shop.example.com");
    assert.deepEqual(peek.hello.alpn, ["h2", "http/1.1"]);
    assert.ok(peek.hello.versions.includes(0x0304));
    assert.equal(peek.hello.namesServer, true);
    assert.equal(peek.hello.extensions.length, countOf(modern));
  });

  it("the peek at a ClientHello parses TLS 1.2 clients and clients without a server name", () => {
    const peek = peekClientHello(old);
    assert.ok(peek.state === "hello");
    assert.equal(peek.hello.serverName, "old.example.com");
    assert.deepEqual(peek.hello.versions, [0x0303]);
    assert.deepEqual(peek.hello.alpn, []);
    assert.equal(nameOf(nameless), "");
  });

  it("the peek at a ClientHello needs more bytes for every prefix, and never more than the hello has", () => {
    for (let length = 0; length < modern.length; length += 1) {
      const peek = peekClientHello(modern.subarray(0, length));
      assert.ok(peek.state === "more", `at ${length}`);
      assert.ok(peek.atLeast > length && peek.atLeast <= modern.length, `at ${length}`);
    }
  });

  it("the peek at a ClientHello does not depend on the division into records and segments", () => {
    for (let round = 0; round < 300; round += 1) {
      const least = Math.ceil(modern.length / 64) + (round % 40) * 13;
      let first = 1 + (round % 4);
      const bytes = rerecord(modern, () => [first, (first = least + Math.floor(Math.random() * least))][0] as number);
      let peek = peekClientHello(bytes.subarray(0, 0));
      while (peek.state === "more") {
        assert.ok(peek.atLeast <= bytes.length);
        peek = peekClientHello(bytes.subarray(0, peek.atLeast));
      }
      assert.ok(peek.state === "hello" && peek.hello.serverName === "shop.example.com");
    }
  });

  it("the peek at a ClientHello never throws for changed, removed or inserted bytes", () => {
    for (let round = 0; round < 20_000; round += 1) {
      const bytes = Buffer.from(modern);
      for (let edits = 1 + (round % 4); edits > 0; edits -= 1) {
        bytes[Math.floor(Math.random() * bytes.length)] = Math.floor(Math.random() * 256);
      }
      const cut = Math.floor(Math.random() * bytes.length);
      const parts = round % 3 === 0 ? [bytes] : [bytes.subarray(0, cut), bytes.subarray(cut + (round % 5))];
      assert.match(stateOf(Buffer.concat(parts)), /^(more|invalid|hello)$/);
      assert.match(stateOf(randomBytes(round % 200)), /^(more|invalid)$/);
    }
  });

  it("K3: the peek at a ClientHello needs at most 16 kB", () => {
    const endless = Buffer.alloc(5 + 16_384, 1);
    endless.set([22, 3, 1, 0x40, 0x00, 1, 0, 0x3f, 0xff]);
    assert.equal(stateOf(endless), "invalid");
    const announced = Buffer.from([22, 3, 1, 0x02, 0x00, 1, 0xff, 0xff, 0xff]);
    assert.equal(stateOf(Buffer.concat([announced, Buffer.alloc(0x200)])), "invalid");
    const padded = withExtension(modern, 21, Buffer.alloc(13_000));
    assert.equal(stateOf(padded), "hello");
  });

  it("K3: the peek at a ClientHello rejects a hello in too many records", () => {
    const dripped = rerecord(modern, () => 1);
    let looks = 0;
    let peek = peekClientHello(dripped.subarray(0, 0));
    for (; peek.state === "more"; looks += 1) peek = peekClientHello(dripped.subarray(0, peek.atLeast));
    assert.equal(peek.state, "invalid");
    assert.ok(looks <= 2 * 65);
  });

  it("K3: the peek at a ClientHello accepts as many extensions as clients could have, and no more", () => {
    const extended = (upTo: number): Buffer => {
      let hello = modern;
      for (let type = 0x1000; countOf(hello) < upTo; type += 1) hello = withExtension(hello, type, Buffer.alloc(0));
      return hello;
    };
    assert.equal(stateOf(extended(128)), "hello");
    assert.equal(stateOf(extended(129)), "invalid");
  });

  it("the peek at a ClientHello rejects other protocols at the first byte, and empty records", () => {
    assert.equal(stateOf(Buffer.from("G")), "invalid");
    assert.equal(stateOf(Buffer.from([23])), "invalid");
    assert.equal(stateOf(Buffer.from([22, 2, 0, 0, 5])), "invalid");
    assert.equal(stateOf(Buffer.from([22, 3, 1, 0, 0])), "invalid");
    assert.equal(stateOf(Buffer.concat([modern, modern]).subarray(0, modern.length + 5)), "hello");
  });

  it("the peek at a ClientHello rejects a second message in the record of the first", () => {
    const crowded = Buffer.concat([modern, Buffer.from([2, 0, 0, 0])]);
    crowded.writeUInt16BE(modern.length - 5 + 4, 3);
    assert.equal(stateOf(crowded), "invalid");
  });

  it("the peek at a ClientHello rejects invalid and multiple server names", () => {
    const good = withExtension(modern, 0, serverNameValue("a.example.com."));
    assert.equal(nameOf(good), "a.example.com");
    for (const name of [
      "",
      ".",
      "a..b",
      "a b",
      "a\0b.example.com",
      "a.example.com:443",
      "[::1]",
      "ü.example",
      "a".repeat(255),
    ]) {
      assert.equal(stateOf(withExtension(modern, 0, serverNameValue(name))), "invalid", JSON.stringify(name));
    }
    assert.equal(stateOf(withExtension(modern, 0, serverNameValue("a.example.com", "b.example.com"))), "invalid");
    assert.equal(stateOf(withExtension(modern, 0, Buffer.alloc(0))), "invalid");
    assert.equal(stateOf(withExtension(modern, 0, Buffer.from([0, 4, 1, 0, 1, 97]))), "invalid");
  });

  it("the peek at a ClientHello rejects a repeated extension and lists with a wrong length", () => {
    assert.equal(stateOf(withExtension(modern, 0, serverNameValue("b.example.com"), true)), "invalid");
    for (const list of ["00020268", "0000", "000100", "00030268320a"]) {
      assert.equal(stateOf(withExtension(modern, 16, Buffer.from(list, "hex"))), "invalid", list);
    }
    for (const list of ["00", "0103", "03030403", "0203040304"]) {
      assert.equal(stateOf(withExtension(modern, 43, Buffer.from(list, "hex"))), "invalid", list);
    }
    assert.equal(nameOf(withExtension(modern, 16, Buffer.from("0003026832", "hex"))), "shop.example.com");
  });
});
