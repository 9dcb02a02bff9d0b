/**
 * Memory that messages are written into: one large block, handed out front to back and never reused, so that what
 * was written can be passed on by reference. A block is freed when the last message in it is.
 */
const slabBytes = 64 * 1024;

export interface Slab {
  bytes: Buffer;
  /** Where the next message starts. */
  used: number;
}

export const slab: Slab = { bytes: Buffer.allocUnsafeSlow(slabBytes), used: 0 };

/** Makes room for `size` bytes at `slab.used`; the caller moves `slab.used` behind what it wrote. */
export function reserve(size: number): void {
  if (slab.bytes.length - slab.used >= size) return;
  slab.bytes = Buffer.allocUnsafeSlow(Math.max(slabBytes, size));
  slab.used = 0;
}

/** Longest text for which a loop beats the call into native code. */
const loopLength = 24;

/** Writes code points up to U+00FF; returns where it ended. */
export function putLatin1(target: Buffer, at: number, text: string): number {
  const { length } = text;
  if (length > loopLength) {
    target.latin1Write(text, at, length);
    return at + length;
  }
  for (let index = 0; index < length; index += 1) target[at + index] = text.charCodeAt(index);
  return at + length;
}

/** Copies `source[start, end)`; returns where it ended. */
export function putBytes(target: Buffer, at: number, source: Uint8Array, start: number, end: number): number {
  (source as Buffer).copy(target, at, start, end);
  return at + end - start;
}
