/** Where the blocks of a segment are. A closed segment ends with an index; others are searched for their blocks. */
import type { FileHandle } from "node:fs/promises";
import { crc32 } from "node:zlib";
import { headBytes, readHead, writeHead } from "./block.ts";
import type { BlockHead } from "./block.ts";

export interface BlockPlace extends BlockHead {
  readonly offset: number;
}

export interface SegmentIndex {
  readonly blocks: readonly BlockPlace[];
  /** Damaged places between blocks. */
  readonly damaged: number;
  /** Bytes up to the end of the last block. */
  readonly end: number;
}

const entryBytes = 4 + headBytes;
const trailerBytes = 12;
const trailerMagic = 0x58444e49;

/** Returns the bytes that close a segment. */
export function renderIndex(blocks: readonly BlockPlace[]): Buffer {
  const bytes = Buffer.alloc(blocks.length * entryBytes + trailerBytes);
  for (const [at, block] of blocks.entries()) {
    bytes.writeUInt32LE(block.offset, at * entryBytes);
    writeHead(bytes, at * entryBytes + 4, block);
  }
  const end = blocks.length * entryBytes;
  bytes.writeUInt32LE(blocks.length, end);
  bytes.writeUInt32LE(crc32(bytes.subarray(0, end + 4)), end + 4);
  bytes.writeUInt32LE(trailerMagic, end + 8);
  return bytes;
}

/** Reads the index of a segment, or all of the segment if it has none. */
export async function readIndex(segment: FileHandle): Promise<SegmentIndex> {
  const { size } = await segment.stat();
  return (await readClosedIndex(segment, size)) ?? searchSegment(await pieceOf(segment, 0, size));
}

async function readClosedIndex(segment: FileHandle, size: number): Promise<SegmentIndex | undefined> {
  if (size < trailerBytes) return undefined;
  const trailer = await pieceOf(segment, size - trailerBytes, trailerBytes);
  if (trailer.length < trailerBytes || trailer.readUInt32LE(8) !== trailerMagic) return undefined;
  const length = trailer.readUInt32LE(0) * entryBytes;
  const end = size - trailerBytes - length;
  if (end < 0) return undefined;
  const entries = await pieceOf(segment, end, length);
  if (crc32(trailer.subarray(0, 4), crc32(entries)) !== trailer.readUInt32LE(4)) return undefined;
  const blocks: BlockPlace[] = [];
  for (let at = 0; at < length; at += entryBytes) {
    const head = readHead(entries, at + 4);
    if (head === undefined) return undefined;
    blocks.push({ ...head, offset: entries.readUInt32LE(at) });
  }
  return { blocks, damaged: 0, end };
}

async function pieceOf(file: FileHandle, offset: number, length: number): Promise<Buffer> {
  const piece = Buffer.allocUnsafe(length);
  const { bytesRead } = await file.read(piece, 0, length, offset);
  return piece.subarray(0, bytesRead);
}

/** Finds the blocks by their headers. After a damaged one, continues at the next intact header. */
function searchSegment(segment: Buffer): SegmentIndex {
  const blocks: BlockPlace[] = [];
  let damaged = 0;
  let end = 0;
  let at = 0;
  while (at < segment.length) {
    const head = readHead(segment, at);
    if (head !== undefined && at + head.length <= segment.length) {
      blocks.push({ ...head, offset: at });
      at += head.length;
      end = at;
      continue;
    }
    const next = nextHead(segment, at + 1);
    if (next < 0) break;
    damaged += 1;
    at = next;
  }
  return { blocks, damaged, end };
}

const magicBytes = Buffer.from("BLKP");

function nextHead(segment: Buffer, from: number): number {
  for (let at = segment.indexOf(magicBytes, from); at >= 0; at = segment.indexOf(magicBytes, at + 1)) {
    if (readHead(segment, at) !== undefined) return at;
  }
  return -1;
}
