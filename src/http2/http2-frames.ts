/** Numbers of HTTP/2 (RFC 9113 §6, §7) and the frame header. */

export const frameType = {
  data: 0,
  headers: 1,
  priority: 2,
  rstStream: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const flag = { endStream: 1, ack: 1, endHeaders: 4, padded: 8, priority: 32 } as const;

export const errorCode = {
  noError: 0,
  protocolError: 1,
  internalError: 2,
  flowControlError: 3,
  streamClosed: 5,
  frameSizeError: 6,
  refusedStream: 7,
  cancel: 8,
  compressionError: 9,
  enhanceYourCalm: 11,
} as const;

export const setting = {
  headerTableSize: 1,
  enablePush: 2,
  maxConcurrentStreams: 3,
  initialWindowSize: 4,
  maxFrameSize: 5,
  maxHeaderListSize: 6,
  enableConnectProtocol: 8,
  noPriorities: 9,
} as const;

export const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");
export const frameHeaderBytes = 9;
/** Largest payload that either side sends here: the smallest maximum that RFC 9113 lets a receiver announce. */
export const maxFrameBytes = 16_384;
/** Maximum of a window, and of a stream id. */
export const maxWindow = 0x7fff_ffff;
/** Initial window of both sides. */
export const defaultWindow = 65_535;

/** Writes the nine-byte header of a frame. Returns the end position. */
export function putFrameHeader(
  target: Uint8Array,
  at: number,
  length: number,
  type: number,
  flags: number,
  streamId: number,
): number {
  target[at] = length >> 16;
  target[at + 1] = length >> 8;
  target[at + 2] = length;
  target[at + 3] = type;
  target[at + 4] = flags;
  return putUint32(target, at + 5, streamId);
}

export function putUint32(target: Uint8Array, at: number, value: number): number {
  target[at] = value >>> 24;
  target[at + 1] = value >>> 16;
  target[at + 2] = value >>> 8;
  target[at + 3] = value;
  return at + 4;
}

/** 31 bits. The reserved top bit is ignored. */
export function readUint31(bytes: Uint8Array, at: number): number {
  return (
    (((bytes[at] as number) & 0x7f) << 24) |
    ((bytes[at + 1] as number) << 16) |
    ((bytes[at + 2] as number) << 8) |
    (bytes[at + 3] as number)
  );
}
