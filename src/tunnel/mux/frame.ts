/**
 * Frames of the multiplexer (agent-protocol, "Frames"). An 8-byte header, big-endian: 24 bits body length,
 * 4 bits type, 4 bits flags, 31 bits stream id.
 */
export const headerLength = 8;

export const frameType = { reset: 0, data: 1, windowIncrement: 2, goAway: 3 } as const;

/** Flags of DATA. */
export const flagFin = 1;
export const flagSyn = 2;

export const errorCode = {
  none: 0,
  protocol: 1,
  internal: 2,
  flowControl: 3,
  streamClosed: 4,
  streamRefused: 5,
  streamCancelled: 6,
  frameSize: 8,
  acceptQueueFull: 9,
  enhanceYourCalm: 10,
  /** Ends a stream between edges because the agent's session has ended. */
  sessionEnded: 12,
} as const;

/** Initial credit of every stream in both directions, bytes (§2.3). */
export const initialWindow = 262_144;

/** Maximum payload of our frames, bytes. Larger frames can still be read. */
export const maxPayload = 65_536;

/** Maximum credit; more overflows the 31 bits of the field. */
export const maxWindow = 0x7fff_ffff;

/** Id that neither side opens. Credit for it lets A1 trigger an immediate ACK without an effect. */
export const unusedStreamId = 0x7fff_fffe;

/** The peer violated the protocol. The session ends with this code in GOAWAY. */
export class ProtocolViolation extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** Writes the 8 bytes of a header at `at`. */
export function writeHeader(
  into: Uint8Array,
  at: number,
  length: number,
  typeAndFlags: number,
  streamId: number,
): void {
  into[at] = length >>> 16;
  into[at + 1] = length >>> 8;
  into[at + 2] = length;
  into[at + 3] = typeAndFlags;
  writeUint32(into, at + 4, streamId);
}

export function writeUint32(into: Uint8Array, at: number, value: number): void {
  into[at] = value >>> 24;
  into[at + 1] = value >>> 16;
  into[at + 2] = value >>> 8;
  into[at + 3] = value;
}

export function readUint32(from: Uint8Array, at: number): number {
  return (
    (((from[at] as number) << 24) |
      ((from[at + 1] as number) << 16) |
      ((from[at + 2] as number) << 8) |
      (from[at + 3] as number)) >>>
    0
  );
}

/** The peer has ended the session. */
export class Goodbye extends Error {
  /** What the peer gave as the reason; may be empty. Untrusted. */
  readonly reason: string;

  constructor(code: number, reason: string) {
    super(`peer said goodbye (code ${code})`);
    this.reason = reason;
  }
}
