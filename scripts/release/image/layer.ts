/** Layers of an image: tar archives that have the same bytes whenever they hold the same files. */
import { gzipSync } from "node:zlib";

/** One entry of a layer. Everything belongs to root unless `owner` is set. */
export interface LayerEntry {
  /** Relative to the root of the image, without a slash at either end. */
  readonly path: string;
  /** Permission bits. */
  readonly mode: number;
  readonly content: Buffer | { readonly linkTo: string } | "folder";
  /** Number of the user and of the group. */
  readonly owner?: number;
}

const blockBytes = 512;
/** Longest name and longest link that a plain header holds, in bytes. */
const longestName = 100;

/** A tar archive (POSIX ustar). @param time of every file, in seconds since 1970 */
export function tarOf(entries: Iterable<LayerEntry>, time: number): Buffer {
  const sorted = [...entries].sort((a, b) => (a.path < b.path ? -1 : 1));
  const parts: Buffer[] = [];
  for (const entry of sorted) {
    parts.push(header(entry, time));
    if (Buffer.isBuffer(entry.content)) {
      parts.push(entry.content, Buffer.alloc(-entry.content.length & (blockBytes - 1)));
    }
  }
  return Buffer.concat([...parts, Buffer.alloc(2 * blockBytes)]);
}

/** Compressed without a time or a name in the header, so the same input gives the same bytes. */
export function compress(tar: Buffer): Buffer {
  return gzipSync(tar, { level: 9 });
}

function header({ path, mode, content, owner = 0 }: LayerEntry, time: number): Buffer {
  const block = Buffer.alloc(blockBytes);
  const isFile = Buffer.isBuffer(content);
  const link = isFile || content === "folder" ? "" : content.linkTo;
  const name = content === "folder" ? `${path}/` : path;
  for (const text of [name, link]) {
    if (Buffer.byteLength(text) > longestName) {
      throw new Error(`write "${path}" to a layer: names and links must have at most ${longestName} bytes`);
    }
  }
  block.write(name, 0);
  block.write(octal(mode, 7), 100);
  block.write(octal(owner, 7), 108);
  block.write(octal(owner, 7), 116);
  block.write(octal(isFile ? content.length : 0, 11), 124);
  block.write(octal(time, 11), 136);
  block.write(isFile ? "0" : content === "folder" ? "5" : "2", 156);
  block.write(link, 157);
  block.write("ustar\u000000", 257);
  // The sum is taken over a header whose own field of the sum is blank.
  block.write(" ".repeat(8), 148);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${octal(sum, 6)}\u0000 `, 148);
  return block;
}

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, "0");
}
