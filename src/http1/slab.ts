/**
 * Memory for outgoing messages: one large block, allocated front to back and never reused, so that written bytes can be
 * passed on by reference. A block is freed together with its last message.
 */
const slabBytes = 64 * 1024;

export interface Slab {
  bytes: Buffer;
  /** Where the next message starts. */
  used: number;
}

export const slab: Slab = { bytes: Buffer.allocUnsafeSlow(slabBytes), used: 0 };

/** Reserves `size` bytes at `slab.used`. The caller advances `slab.used` past what it writes. */
export function reserveSlab(size: number): void {
  if (slab.bytes.length - slab.used >= size) return;
  slab.bytes = Buffer.allocUnsafeSlow(Math.max(slabBytes, size));
  slab.used = 0;
}

/** Longest text for which a loop is faster than the call into native code. */
const loopLength = 24;

/** Writes code points up to U+00FF. Returns the end position. */
export function putLatin1(target: Buffer, at: number, text: string): number {
  const { length } = text;
  if (length > loopLength) {
    target.latin1Write(text, at, length);
    return at + length;
  }
  for (let index = 0; index < length; index += 1) target[at + index] = text.charCodeAt(index);
  return at + length;
}

/** Copies `source[start, end)`. Returns the end position. */
export function putBytes(target: Buffer, at: number, source: Uint8Array, start: number, end: number): number {
  (source as Buffer).copy(target, at, start, end);
  return at + end - start;
}
