/**
 * One direction of a WebSocket: the most recent frames within a bound, stored as bytes in one buffer and parsed on
 * demand. No object is allocated per frame, and frames are not validated, because both ends do that.
 */

/** Stored bytes of one direction, including the note of each frame. */
export const maxLogBytes = 262_144;
/** Stored bytes of one frame's payload. */
export const maxFrameBytes = 65_536;
const firstBytes = 2_048;
/** Each payload is preceded by a note: numbers of 8, 4, 4 and 8 bytes, the frame's first byte, and its mask. */
const note = { at: 0, order: 8, kept: 12, length: 16, first: 24, mask: 25, bytes: 29 } as const;
const maxHeadBytes = 14;
const none = Buffer.alloc(0);

/** A stored frame (RFC 6455 §5.2). */
export interface KeptFrame {
  /** Wall clock at the end of its head, milliseconds since 1970. */
  readonly at: number;
  /** Position among the frames of both directions. */
  readonly order: number;
  readonly isFinal: boolean;
  /** Whether its message is compressed (RFC 7692 §6). */
  readonly isCompressed: boolean;
  readonly opcode: number;
  /** Length of the payload, bytes. */
  readonly length: number;
  /** The unmasked payload, as far as it has arrived and was stored. */
  readonly payload: Buffer;
}

/** Numbers the frames of both directions. */
export interface FrameOrder {
  last: number;
}

export class FrameLog {
  readonly #order: FrameOrder;
  #bytes = none;
  /** Offsets of the oldest stored frame, of the current frame, and of the end of all frames. */
  #start = 0;
  #current = 0;
  #end = 0;
  /** The current frame: received bytes of its head, and payload bytes still to arrive. */
  readonly #head = Buffer.alloc(maxHeadBytes);
  #headBytes = 0;
  #left = 0;
  /** Number of frames that were evicted. */
  #dropped = 0;

  constructor(order: FrameOrder) {
    this.#order = order;
  }

  get dropped(): number {
    return this.#dropped;
  }

  /** Adds bytes that pass at `now` (wall clock). Returns the number of additional bytes held in memory. */
  add(bytes: Buffer, now: number): number {
    const before = this.#bytes.length;
    let at = 0;
    while (at < bytes.length) {
      if (this.#left > 0) {
        const taken = Math.min(this.#left, bytes.length - at);
        this.#keep(bytes, at, taken);
        this.#left -= taken;
        at += taken;
      } else {
        this.#head[this.#headBytes] = bytes[at] as number;
        this.#headBytes += 1;
        at += 1;
        if (this.#headBytes === headLength(this.#head, this.#headBytes)) this.#begin(now);
      }
    }
    return this.#bytes.length - before;
  }

  /** Returns the frames, oldest first. */
  frames(): KeptFrame[] {
    const found: KeptFrame[] = [];
    for (let at = this.#start; at < this.#end;) {
      const kept = this.#bytes.readUInt32LE(at + note.kept);
      const first = this.#bytes[at + note.first] as number;
      found.push({
        at: this.#bytes.readDoubleLE(at + note.at),
        order: this.#bytes.readUInt32LE(at + note.order),
        isFinal: (first & 0x80) !== 0,
        isCompressed: (first & 0x40) !== 0,
        opcode: first & 0x0f,
        length: this.#bytes.readDoubleLE(at + note.length),
        payload: this.#unmasked(at, kept),
      });
      at += note.bytes + kept;
    }
    return found;
  }

  /** Starts a frame whose head is complete. */
  #begin(now: number): void {
    const head = this.#head;
    const size = this.#headBytes;
    this.#headBytes = 0;
    const second = head[1] as number;
    const short = second & 0x7f;
    this.#left = short === 126 ? head.readUInt16BE(2) : short === 127 ? Number(head.readBigUInt64BE(2)) : short;
    this.#makeRoom(note.bytes);
    const bytes = this.#bytes;
    const at = this.#end;
    this.#current = at;
    this.#end += note.bytes;
    this.#order.last += 1;
    bytes.writeDoubleLE(now, at + note.at);
    bytes.writeUInt32LE(this.#order.last % 0x1_0000_0000, at + note.order);
    bytes.writeUInt32LE(0, at + note.kept);
    bytes.writeDoubleLE(this.#left, at + note.length);
    bytes[at + note.first] = head[0] as number;
    // A mask of zeros leaves the payload unchanged.
    if ((second & 0x80) !== 0) head.copy(bytes, at + note.mask, size - 4, size);
    else bytes.fill(0, at + note.mask, at + note.bytes);
  }

  #keep(bytes: Buffer, at: number, length: number): void {
    const kept = this.#end - this.#current - note.bytes;
    const taken = Math.min(length, maxFrameBytes - kept);
    if (taken <= 0) return;
    this.#makeRoom(taken);
    bytes.copy(this.#bytes, this.#end, at, at + taken);
    this.#end += taken;
    this.#bytes.writeUInt32LE(kept + taken, this.#current + note.kept);
  }

  /** Evicts the oldest frames. The current frame is never evicted, because its maximum is a quarter of the bound. */
  #makeRoom(length: number): void {
    const needed = this.#end - this.#start + length;
    if (this.#end + length <= this.#bytes.length) return;
    if (needed > maxLogBytes) {
      // Evicts half of the buffer at a time, so that the rest is not moved for each frame.
      const bound = maxLogBytes / 2;
      while (this.#start < this.#current && this.#end - this.#start + length > bound) {
        this.#start += note.bytes + this.#bytes.readUInt32LE(this.#start + note.kept);
        this.#dropped += 1;
      }
    }
    const held = this.#end - this.#start;
    let size = Math.max(firstBytes, this.#bytes.length);
    while (size < held + length) size *= 2;
    const room = size === this.#bytes.length ? this.#bytes : Buffer.allocUnsafeSlow(size);
    this.#bytes.copy(room, 0, this.#start, this.#end);
    this.#bytes = room;
    this.#current -= this.#start;
    this.#end = held;
    this.#start = 0;
  }

  #unmasked(at: number, length: number): Buffer {
    const begin = at + note.bytes;
    const payload = Buffer.from(this.#bytes.subarray(begin, begin + length));
    for (let each = 0; each < length; each += 1) {
      payload[each] = (payload[each] as number) ^ (this.#bytes[at + note.mask + (each & 3)] as number);
    }
    return payload;
  }
}

/**
 * Length of the head that starts in `head`, judged by its first `have` bytes. Returns more than `have` while it is
 * undecided.
 */
function headLength(head: Buffer, have: number): number {
  if (have < 2) return 2;
  const second = head[1] as number;
  const short = second & 0x7f;
  return 2 + (short === 126 ? 2 : short === 127 ? 8 : 0) + ((second & 0x80) === 0 ? 0 : 4);
}
