/** Reads and writes WebSocket frames as a server (RFC 6455 §5). Payloads are passed on as they arrive. */
import { isUtf8 } from "node:buffer";

/** Receives the content of a client's frames. */
export interface FrameSink {
  /** A piece of a binary message, unmasked. */
  binary(bytes: Buffer): void;
  ping(payload: Buffer): void;
  /** The client closes; 1005 without a code. */
  closed(code: number): void;
}

export const closeCodes = {
  normal: 1000,
  goingAway: 1001,
  protocolError: 1002,
  unsupported: 1003,
  noStatus: 1005,
  badData: 1007,
  internal: 1011,
} as const;

const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;
const maxHeadBytes = 14;
const maxControlBytes = 125;

/**
 * Reads a client's frames. Memory does not grow with frames or messages: only an incomplete head or control frame is
 * stored.
 */
export class FrameReader {
  readonly #sink: FrameSink;
  readonly #head = Buffer.alloc(maxHeadBytes);
  #headBytes = 0;
  /** Remaining bytes of the payload; undefined between frames. */
  #left: number | undefined;
  #opcode = 0;
  #maskAt = 0;
  #maskOffset = 0;
  #inMessage = false;
  #control: Buffer | undefined;
  #controlBytes = 0;
  #ended = false;

  constructor(sink: FrameSink) {
    this.#sink = sink;
  }

  /** Returns a close code if the client violates the protocol. No more bytes may follow. */
  push(bytes: Buffer): number | undefined {
    let at = 0;
    while (at < bytes.length && !this.#ended) {
      if (this.#left === undefined) {
        this.#head[this.#headBytes] = bytes[at] as number;
        this.#headBytes += 1;
        at += 1;
        const wrong = this.#readHead();
        if (wrong !== undefined) return wrong;
        if (this.#left !== 0) continue;
      } else {
        const piece = this.#unmask(bytes.subarray(at, at + this.#left));
        at += piece.length;
        this.#left -= piece.length;
        if (this.#opcode < opcodes.close) this.#sink.binary(piece);
        else {
          piece.copy(this.#control as Buffer, this.#controlBytes);
          this.#controlBytes += piece.length;
        }
      }
      if (this.#left === 0) {
        const wrong = this.#endFrame();
        if (wrong !== undefined) return wrong;
      }
    }
    return undefined;
  }

  /** Reads the current head. Sets `#left` if the head is complete. */
  #readHead(): number | undefined {
    const head = this.#head;
    const first = head[0] as number;
    if (this.#headBytes === 1) return this.#checkFirst(first);
    const second = head[1] as number;
    // RFC 6455 §5.1: a client's frames are masked.
    if ((second & 0x80) === 0) return closeCodes.protocolError;
    const short = second & 0x7f;
    if (this.#opcode >= opcodes.close && short > maxControlBytes) return closeCodes.protocolError;
    const extended = short === 126 ? 2 : short === 127 ? 8 : 0;
    if (this.#headBytes < 2 + extended + 4) return undefined;
    const length = extended === 0 ? short : extended === 2 ? head.readUInt16BE(2) : Number(head.readBigUInt64BE(2));
    // §5.2: only the shortest form is valid.
    if ((extended === 2 && length < 126) || (extended === 8 && length < 65_536)) return closeCodes.protocolError;
    if (length > Number.MAX_SAFE_INTEGER) return closeCodes.protocolError;
    this.#maskAt = 2 + extended;
    this.#maskOffset = 0;
    this.#headBytes = 0;
    this.#left = length;
    if (this.#opcode >= opcodes.close) {
      this.#control = Buffer.alloc(length);
      this.#controlBytes = 0;
    }
    return undefined;
  }

  #checkFirst(first: number): number | undefined {
    const isFinal = (first & 0x80) !== 0;
    this.#opcode = first & 0x0f;
    // No negotiated extension uses these bits.
    if ((first & 0x70) !== 0) return closeCodes.protocolError;
    switch (this.#opcode) {
      case opcodes.text:
        return closeCodes.unsupported;
      case opcodes.binary:
        if (this.#inMessage) return closeCodes.protocolError;
        break;
      case opcodes.continuation:
        if (!this.#inMessage) return closeCodes.protocolError;
        break;
      case opcodes.close:
      case opcodes.ping:
      case opcodes.pong:
        return isFinal ? undefined : closeCodes.protocolError;
      default:
        return closeCodes.protocolError;
    }
    this.#inMessage = !isFinal;
    return undefined;
  }

  /** Copies the piece, because the input must not be changed. */
  #unmask(piece: Buffer): Buffer {
    const plain = Buffer.allocUnsafe(piece.length);
    const mask = this.#head;
    const base = this.#maskAt;
    let offset = this.#maskOffset;
    for (let at = 0; at < piece.length; at += 1) {
      plain[at] = (piece[at] as number) ^ (mask[base + offset] as number);
      offset = (offset + 1) & 3;
    }
    this.#maskOffset = offset;
    return plain;
  }

  #endFrame(): number | undefined {
    this.#left = undefined;
    const payload = this.#control;
    if (payload === undefined) return undefined;
    this.#control = undefined;
    if (this.#opcode === opcodes.ping) this.#sink.ping(payload);
    if (this.#opcode !== opcodes.close) return undefined;
    this.#ended = true;
    if (payload.length === 0) this.#sink.closed(closeCodes.noStatus);
    else if (payload.length === 1 || !isCloseCode(payload.readUInt16BE(0))) return closeCodes.protocolError;
    else if (!isUtf8(payload.subarray(2))) return closeCodes.badData;
    else this.#sink.closed(payload.readUInt16BE(0));
    return undefined;
  }
}

/** RFC 6455 §7.4 and the registry: codes that an endpoint may send. */
function isCloseCode(code: number): boolean {
  if (code >= 3000 && code <= 4999) return true;
  return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014);
}

/** Returns the head of an unmasked, final frame of `length` bytes. */
function frameHead(opcode: number, length: number): Buffer {
  if (length < 126) return Buffer.from([0x80 | opcode, length]);
  const head = Buffer.alloc(length < 65_536 ? 4 : 10);
  head[0] = 0x80 | opcode;
  if (length < 65_536) {
    head[1] = 126;
    head.writeUInt16BE(length, 2);
  } else {
    head[1] = 127;
    head.writeBigUInt64BE(BigInt(length), 2);
  }
  return head;
}

export function binaryHead(length: number): Buffer {
  return frameHead(opcodes.binary, length);
}

export function pongFrame(payload: Buffer): Buffer {
  return Buffer.concat([frameHead(opcodes.pong, payload.length), payload]);
}

/** @param code 1005 for none */
export function closeFrame(code: number): Buffer {
  if (code === closeCodes.noStatus) return frameHead(opcodes.close, 0);
  const payload = Buffer.alloc(2);
  payload.writeUInt16BE(code);
  return Buffer.concat([frameHead(opcodes.close, 2), payload]);
}
