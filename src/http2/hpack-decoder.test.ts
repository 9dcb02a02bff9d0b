import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { HeadBuilder } from "./head-builder.ts";
import { pseudo } from "./header-entry.ts";
import { HpackDecoder } from "./hpack-decoder.ts";
import { decodeHuffman, huffmanCodes } from "./huffman.ts";

const head = new HeadBuilder();

function decode(decoder: HpackDecoder, hex: string, maxBytes = 16_384): boolean {
  const bytes = Buffer.from(hex.replaceAll(" ", ""), "hex");
  head.start(maxBytes, 100);
  return decoder.decode(bytes, 0, bytes.length, head);
}

function fields(): (readonly [string, string])[] {
  const found: (readonly [string, string])[] = [];
  for (const [name, number] of Object.entries(pseudo)) {
    const value = head.pseudo[number];
    if (value !== undefined) found.push([name, value]);
  }
  return [...found, ...(head.build("")?.entries() ?? [])];
}

function sorted(pairs: readonly (readonly string[])[]): string[] {
  return pairs.map((pair) => pair.join(": ")).sort();
}

const common = [
  [":method", "GET"],
  [":scheme", "http"],
  [":authority", "www.example.com"],
  [":path", "/"],
];

describe("HPACK", () => {
  // RFC 7541 Appendix C.3 and C.4: the same three requests, without and with Huffman code.
  for (const [kind, blocks] of Object.entries({
    plain: [
      "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
      "8286 84be 5808 6e6f 2d63 6163 6865",
      "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
    ],
    Huffman: [
      "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
      "8286 84be 5886 a8eb 1064 9cbf",
      "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
    ],
  })) {
    it(`HPACK decodes the ${kind} examples of its specification`, () => {
      const decoder = new HpackDecoder();
      assert.ok(decode(decoder, blocks[0] as string));
      assert.deepEqual(sorted(fields()), sorted(common));
      assert.ok(decode(decoder, blocks[1] as string));
      assert.deepEqual(sorted(fields()), sorted([...common, ["cache-control", "no-cache"]]));
      assert.ok(decode(decoder, blocks[2] as string));
      const third = [
        [":method", "GET"],
        [":scheme", "https"],
        [":authority", "www.example.com"],
        [":path", "/index.html"],
        ["custom-key", "custom-value"],
      ];
      assert.deepEqual(sorted(fields()), sorted(third));
    });
  }

  it("HPACK uses a complete prefix code, and decodes every symbol at every bit position", () => {
    const codes = huffmanCodes();
    let sum = 0;
    for (const code of codes.values()) sum += 2 ** -code.length;
    assert.equal(sum, 1);
    assert.equal(codes.size, 257);
    for (let symbol = 0; symbol < 256; symbol += 1) {
      for (const before of ["", "a", "ab", "&a", "0&&", "!", "!1", "zzz"]) {
        const text = Buffer.concat([Buffer.from(before), Buffer.from([symbol]), Buffer.from("z")]);
        let bits = [...text].map((byte) => codes.get(byte)).join("");
        bits = bits.padEnd(Math.ceil(bits.length / 8) * 8, "1");
        const bytes = Buffer.from((bits.match(/.{8}/g) ?? []).map((eight) => Number.parseInt(eight, 2)));
        const target = Buffer.alloc(64);
        const end = decodeHuffman(bytes, 0, bytes.length, target, 3);
        assert.deepEqual(target.subarray(3, end), text, `symbol ${symbol}`);
      }
    }
  });

  it("HPACK refuses Huffman strings with wrong padding or the end-of-string symbol", () => {
    const target = Buffer.alloc(64);
    for (const hex of ["00", "1fff", "ffffffff", "ffffffffff", "18"]) {
      const bytes = Buffer.from(hex, "hex");
      assert.equal(decodeHuffman(bytes, 0, bytes.length, target, 0), -1, hex);
    }
  });

  it("HPACK refuses blocks that cannot be decoded", () => {
    const bad = {
      "index 0": "80",
      "an index behind the tables": "be",
      "an integer without end": "ffffffffffffffffff",
      "an integer cut short": "ff",
      "a string longer than the block": "4003 6162",
      "no value": "4001 61",
      "a table larger than was allowed": "3fe2 1f",
      "a change of the table behind a field": "82 20",
      "a literal with an index of nothing": "7f ff ff 03 01 61",
    };
    for (const [what, hex] of Object.entries(bad)) assert.equal(decode(new HpackDecoder(), hex), false, what);
  });

  it("HPACK evicts fields that no longer fit into the table", () => {
    const decoder = new HpackDecoder();
    assert.ok(decode(decoder, "4001 6101 62"));
    assert.ok(decode(decoder, "be"));
    assert.deepEqual(fields(), [["a", "b"]]);
    assert.ok(decode(decoder, "20"));
    assert.equal(decode(decoder, "be"), false);
    const large = new HpackDecoder();
    assert.ok(decode(large, "4001 6101 62"));
    // A field larger than the table empties it, which is not an error.
    assert.ok(decode(large, `4001 62 7f a1 1f ${"63".repeat(4128)}`));
    assert.equal(decode(large, "be"), false);
  });

  it("D1: HPACK counts the decoded size of a block, not its encoded size", () => {
    const decoder = new HpackDecoder();
    assert.ok(decode(decoder, `4001 61 7f a1 1e ${"63".repeat(4000)}`));
    assert.equal(head.tooLarge, false);
    assert.ok(decode(decoder, "be".repeat(5)));
    assert.equal(head.tooLarge, true);
    assert.ok(decode(decoder, "be"));
    assert.equal(head.tooLarge, false);
  });
});
