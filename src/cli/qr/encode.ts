/** Encodes short texts as QR codes (ISO/IEC 18004): byte mode, error correction level M, versions 1 to 10. */
import { drawPatterns, addFormat, maskBit, placeData } from "./grid.ts";
import type { Grid } from "./grid.ts";
import { penaltyOf } from "./penalty.ts";
import { errorCorrection } from "./reed-solomon.ts";

/** Level M, by version: error correction bytes per block, number of blocks, and total bytes. */
const versions: readonly (readonly [correction: number, blocks: number, total: number])[] = [
  [10, 1, 26],
  [16, 1, 44],
  [26, 1, 70],
  [18, 2, 100],
  [24, 2, 134],
  [16, 4, 172],
  [18, 4, 196],
  [22, 4, 242],
  [22, 5, 292],
  [26, 5, 346],
];

/** Returns the modules by row; true is dark. Returns undefined for a text of more than 213 bytes. */
export function encodeQr(text: string): readonly (readonly boolean[])[] | undefined {
  const bytes = Buffer.from(text);
  const version = 1 + versions.findIndex((_, at) => bytes.length <= capacityOf(at + 1));
  if (version === 0) return undefined;
  const { grid, isFree } = drawPatterns(version);
  placeData(grid, isFree, interleaveBlocks(dataOf(bytes, version), version));
  const masked = Array.from({ length: 8 }, (_, mask): Grid => {
    const rows = grid.map((row, y) => row.map((dark, x) => (isFree(x, y) ? dark !== maskBit(mask, x, y) : dark)));
    return addFormat(rows, mask);
  });
  return masked.reduce((best, one) => (penaltyOf(one) < penaltyOf(best) ? one : best));
}

function dataBytesOf(version: number): number {
  const [correction, blocks, total] = versions[version - 1] as (typeof versions)[number];
  return total - correction * blocks;
}

/** Mode and length take 12 bits; from version 10 they take 20. */
function capacityOf(version: number): number {
  return dataBytesOf(version) - (version < 10 ? 2 : 3);
}

/** Returns mode, length, text, end and padding. */
function dataOf(text: Buffer, version: number): number[] {
  const bits: number[] = [];
  const push = (value: number, count: number): void => {
    for (let bit = count - 1; bit >= 0; bit -= 1) bits.push((value >>> bit) & 1);
  };
  push(0b0100, 4);
  push(text.length, version < 10 ? 8 : 16);
  for (const byte of text) push(byte, 8);
  const wanted = dataBytesOf(version);
  push(0, Math.min(4, wanted * 8 - bits.length));
  while (bits.length % 8 !== 0) bits.push(0);
  const data = Array.from({ length: bits.length / 8 }, (_, at) =>
    bits.slice(at * 8, at * 8 + 8).reduce((byte, bit) => byte * 2 + bit, 0),
  );
  for (let padding = 0xec; data.length < wanted; padding ^= 0xec ^ 0x11) data.push(padding);
  return data;
}

/** Interleaves the blocks byte by byte, data first. Later blocks may have one more data byte. */
function interleaveBlocks(data: readonly number[], version: number): number[] {
  const [correction, count] = versions[version - 1] as (typeof versions)[number];
  const short = Math.floor(data.length / count);
  const longFrom = count - (data.length % count);
  let at = 0;
  const blocks = Array.from({ length: count }, (_, block) => {
    const own = data.slice(at, (at += short + (block >= longFrom ? 1 : 0)));
    return { own, check: errorCorrection(own, correction) };
  });
  const across = (lists: readonly (readonly number[])[]): number[] =>
    Array.from({ length: Math.max(...lists.map(({ length }) => length)) }).flatMap((_, index) =>
      lists.flatMap((list) => list.slice(index, index + 1)),
    );
  return [...across(blocks.map(({ own }) => own)), ...across(blocks.map(({ check }) => check))];
}
