/** Decodes codes by the standard's rules, with error correction checked and without the encoder's code. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { encodeQr } from "./encode.ts";
import { renderQr } from "./render-qr.ts";

type Code = readonly (readonly boolean[])[];

const formats = [0x5412, 0x5125, 0x5e7c, 0x5b4b, 0x45f9, 0x40ce, 0x4f97, 0x4aa0];
/** Level M: number of data bytes and error correction bytes of each block (ISO/IEC 18004, tables 7 and 9). */
const blocksOf: readonly (readonly [data: readonly number[], check: number])[] = [
  [[16], 10],
  [[28], 16],
  [[44], 26],
  [[32, 32], 18],
  [[43, 43], 24],
  [[27, 27, 27, 27], 16],
  [[31, 31, 31, 31], 18],
  [[38, 38, 39, 39], 22],
  [[36, 36, 36, 37, 37], 22],
  [[43, 43, 43, 43, 44], 26],
];
const centres = [[], [18], [22], [26], [30], [34], [6, 22, 38], [6, 24, 42], [6, 26, 46], [6, 28, 50]];

/** Returns the text of a code. Throws if the code breaks the standard. */
function read(code: Code): string {
  const size = code.length;
  const version = (size - 17) / 4;
  const bit = (x: number, y: number): number => (code[y]?.[x] === true ? 1 : 0);
  const finder = ["1111111", "1000001", "1011101", "1011101", "1011101", "1000001", "1111111"];
  for (const [left, top] of [
    [0, 0],
    [size - 7, 0],
    [0, size - 7],
  ] as const) {
    for (const [dy, line] of finder.entries()) {
      assert.equal(Array.from(line, (_, dx) => bit(left + dx, top + dy)).join(""), line);
    }
  }
  const xs = [0, 1, 2, 3, 4, 5, 7, 8];
  let format = 0;
  for (const x of xs) format = format * 2 + bit(x, 8);
  for (const y of [7, 5, 4, 3, 2, 1, 0]) format = format * 2 + bit(8, y);
  let copy = 0;
  for (let y = size - 1; y > size - 8; y -= 1) copy = copy * 2 + bit(8, y);
  for (let x = size - 8; x < size; x += 1) copy = copy * 2 + bit(x, 8);
  assert.equal(copy, format);
  assert.equal(bit(8, size - 8), 1);
  const mask = formats.indexOf(format);
  assert.ok(mask >= 0, `format ${format.toString(2)}`);
  const own = centres[version - 1] as readonly number[];
  const all = own.length === 1 ? [6, ...own] : own;
  const isAligned = (x: number, y: number): boolean =>
    all.some((cx) =>
      all.some((cy) => {
        const corner = (cx === 6 && (cy === 6 || cy === size - 7)) || (cx === size - 7 && cy === 6);
        return !corner && Math.abs(x - cx) <= 2 && Math.abs(y - cy) <= 2;
      }),
    );
  const isFunction = (x: number, y: number): boolean =>
    x === 6 ||
    y === 6 ||
    (x < 9 && y < 9) ||
    (x >= size - 8 && y < 9) ||
    (x < 9 && y >= size - 8) ||
    (version >= 7 && ((x >= size - 11 && y < 6) || (y >= size - 11 && x < 6))) ||
    isAligned(x, y);
  const inverts = [
    (i: number, j: number) => (i + j) % 2 === 0,
    (i: number) => i % 2 === 0,
    (_: number, j: number) => j % 3 === 0,
    (i: number, j: number) => (i + j) % 3 === 0,
    (i: number, j: number) => (Math.floor(i / 2) + Math.floor(j / 3)) % 2 === 0,
    (i: number, j: number) => ((i * j) % 2) + ((i * j) % 3) === 0,
    (i: number, j: number) => (((i * j) % 2) + ((i * j) % 3)) % 2 === 0,
    (i: number, j: number) => (((i + j) % 2) + ((i * j) % 3)) % 2 === 0,
  ][mask] as (row: number, column: number) => boolean;
  const bits: number[] = [];
  let isUp = true;
  for (let right = size - 1; right > 0; right -= 2, isUp = !isUp) {
    if (right === 6) right -= 1;
    for (let step = 0; step < size; step += 1) {
      const y = isUp ? size - 1 - step : step;
      for (const x of [right, right - 1]) if (!isFunction(x, y)) bits.push(bit(x, y) ^ (inverts(y, x) ? 1 : 0));
    }
  }
  const bytes = Array.from({ length: Math.floor(bits.length / 8) }, (_, at) =>
    Number.parseInt(bits.slice(at * 8, at * 8 + 8).join(""), 2),
  );
  const [lengths, check] = blocksOf[version - 1] as (typeof blocksOf)[number];
  const blocks = lengths.map((): number[] => []);
  let at = 0;
  for (let index = 0; index < Math.max(...lengths); index += 1) {
    for (const [block, length] of lengths.entries()) if (index < length) blocks[block]?.push(bytes[at++] as number);
  }
  const data = blocks.flat();
  for (let index = 0; index < check; index += 1) for (const block of blocks) block.push(bytes[at++] as number);
  for (const block of blocks) for (let root = 0; root < check; root += 1) assert.equal(syndrome(block, root), 0);
  const text = data.map((byte) => byte.toString(2).padStart(8, "0")).join("");
  assert.equal(text.slice(0, 4), "0100");
  const lengthBits = version < 10 ? 8 : 16;
  const length = Number.parseInt(text.slice(4, 4 + lengthBits), 2);
  const from = 4 + lengthBits;
  return Buffer.from(
    Array.from({ length }, (_, index) => Number.parseInt(text.slice(from + index * 8, from + index * 8 + 8), 2)),
  ).toString();
}

const powers: number[] = [];
for (let value = 1; powers.length < 255;) {
  powers.push(value);
  value = value * 2 > 255 ? (value * 2) ^ 285 : value * 2;
}

/** Evaluates the block as a polynomial at 2^root: 0 for every root of a correct block. */
function syndrome(block: readonly number[], root: number): number {
  return block.reduce((sum, byte, index) => {
    if (byte === 0) return sum;
    const exponent = powers.indexOf(byte) + root * (block.length - 1 - index);
    return sum ^ (powers[exponent % 255] as number);
  }, 0);
}

const url = "https://swift-badger-mpk9t5.t.example.com/";
for (let length = 1; length <= 213; length += length < 14 ? 13 : 7) {
  it(`a QR code of ${length} bytes can be read back`, () => {
    const text = (url + "x".repeat(213)).slice(0, length);
    assert.equal(read(encodeQr(text) as Code), text);
  });
}

it("a QR code of the longest text, of a text that is too long, and of a text beyond ASCII", () => {
  assert.equal(read(encodeQr("y".repeat(213)) as Code).length, 213);
  assert.equal(encodeQr("y".repeat(214)), undefined);
  assert.deepEqual(renderQr("y".repeat(214)), []);
  assert.equal(read(encodeQr("https://bücher.example/ä") as Code), "https://bücher.example/ä");
});

it("a rendered QR code has two rows per line and a light margin", () => {
  const code = encodeQr(url) as Code;
  const lines = renderQr(url);
  assert.equal(lines.length, Math.ceil((code.length + 4) / 2));
  assert.ok(lines.every((line) => line.length === code.length + 4));
  assert.match(lines[0] as string, /^█+$/);
  const isDark = (x: number, y: number): boolean => {
    const character = lines[Math.floor((y + 2) / 2)]?.[x + 2] ?? "";
    return (y % 2 === 0 ? " ▄" : " ▀").includes(character);
  };
  for (const [y, row] of code.entries()) for (const [x, dark] of row.entries()) assert.equal(isDark(x, y), dark);
});
