/**
 * A block of a segment: a plain header, then records that are compressed and sealed for their account. The header is
 * authenticated with the records, so that a block cannot be moved to another account.
 */
import { createCipheriv, createDecipheriv } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { constants, crc32, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { takeRandomBytes } from "../../lib/random-bytes.ts";

export interface BlockHead {
  /** Bytes of the whole block. */
  readonly length: number;
  /** Bytes of its records before compression. */
  readonly rawLength: number;
  readonly count: number;
  /** Arrival of the earliest and the latest request, microseconds since 1970. */
  readonly minAt: number;
  readonly maxAt: number;
  /** Records that were dropped since the previous block of the segment. */
  readonly dropped: number;
}

/** Bytes of a header: magic, lengths, count, dropped, times, and the checksum. */
export const headBytes = 40;
const magic = 0x504b4c42;
const ivBytes = 12;
const tagBytes = 16;
/** Maximum of a block's records, so that a damaged header cannot make a reader allocate more. */
const maxRawBytes = 4 * 1024 * 1024;
const compressed = { params: { [constants.ZSTD_c_compressionLevel]: 3 } };

export function sealBlock(
  raw: Uint8Array,
  facts: Omit<BlockHead, "length" | "rawLength">,
  key: KeyObject,
  context: string,
): Buffer {
  const packed = zstdCompressSync(raw, compressed);
  const length = headBytes + ivBytes + packed.length + tagBytes;
  const block = Buffer.allocUnsafe(length);
  writeHead(block, 0, { ...facts, length, rawLength: raw.length });
  const iv = takeRandomBytes(ivBytes);
  const cipher = createCipheriv("aes-256-gcm", key, iv, { authTagLength: tagBytes });
  cipher.setAAD(buildAssociatedData(block.subarray(0, headBytes), context));
  block.set(iv, headBytes);
  block.set(cipher.update(packed), headBytes + ivBytes);
  cipher.final();
  block.set(cipher.getAuthTag(), length - tagBytes);
  return block;
}

/** Returns the records of a block. Throws if it was damaged or belongs to another context. */
export function openBlock(block: Buffer, key: KeyObject, context: string): Buffer {
  const head = readHead(block, 0);
  if (head === undefined || head.length !== block.length)
    throw new Error("open a block of captured requests: it is damaged");
  const decipher = createDecipheriv("aes-256-gcm", key, block.subarray(headBytes, headBytes + ivBytes), {
    authTagLength: tagBytes,
  });
  decipher.setAAD(buildAssociatedData(block.subarray(0, headBytes), context));
  decipher.setAuthTag(block.subarray(-tagBytes));
  const packed = Buffer.concat([decipher.update(block.subarray(headBytes + ivBytes, -tagBytes)), decipher.final()]);
  return zstdDecompressSync(packed, { maxOutputLength: maxRawBytes });
}

/** Returns undefined if no intact header begins at `at`. */
export function readHead(bytes: Buffer, at: number): BlockHead | undefined {
  if (at + headBytes > bytes.length || bytes.readUInt32LE(at) !== magic) return undefined;
  if (crc32(bytes.subarray(at, at + headBytes - 4)) !== bytes.readUInt32LE(at + headBytes - 4)) return undefined;
  const length = bytes.readUInt32LE(at + 4);
  const rawLength = bytes.readUInt32LE(at + 8);
  if (length < headBytes + ivBytes + tagBytes || rawLength > maxRawBytes) return undefined;
  return {
    length,
    rawLength,
    count: bytes.readUInt16LE(at + 12),
    dropped: bytes.readUInt32LE(at + 14),
    minAt: bytes.readUIntLE(at + 18, 6) * 100,
    maxAt: bytes.readUIntLE(at + 24, 6) * 100 + 99,
  };
}

export function writeHead(bytes: Buffer, at: number, head: BlockHead): void {
  bytes.writeUInt32LE(magic, at);
  bytes.writeUInt32LE(head.length, at + 4);
  bytes.writeUInt32LE(head.rawLength, at + 8);
  bytes.writeUInt16LE(head.count, at + 12);
  bytes.writeUInt32LE(Math.min(head.dropped, 0xffff_ffff), at + 14);
  bytes.writeUIntLE(toTenthsOfMs(head.minAt), at + 18, 6);
  bytes.writeUIntLE(toTenthsOfMs(head.maxAt), at + 24, 6);
  bytes.fill(0, at + 30, at + headBytes - 4);
  bytes.writeUInt32LE(crc32(bytes.subarray(at, at + headBytes - 4)), at + headBytes - 4);
}

/** Six bytes hold the time in units of 100 µs until the year 2861. */
function toTenthsOfMs(micros: number): number {
  return Math.min(Math.max(Math.floor(micros / 100), 0), 2 ** 48 - 1);
}

function buildAssociatedData(head: Buffer, context: string): Buffer {
  return Buffer.concat([head, Buffer.from(context)]);
}
