/** Data types of SSH messages (RFC 4251 §5). */

/** The peer broke the protocol. The message is sent to the peer before the connection ends. */
export class SshViolation extends Error {
  override readonly name = "SshViolation";
}

/** Reads one message. Each read throws `SshViolation` if the message is too short. */
export class WireReader {
  readonly bytes: Buffer;
  at: number;

  constructor(bytes: Buffer, at = 0) {
    this.bytes = bytes;
    this.at = at;
  }

  get left(): number {
    return this.bytes.length - this.at;
  }

  byte(): number {
    return this.#take(1)[0] as number;
  }

  boolean(): boolean {
    return this.byte() !== 0;
  }

  uint32(): number {
    return this.#take(4).readUInt32BE();
  }

  uint64(): bigint {
    return this.#take(8).readBigUInt64BE();
  }

  /** Returns the bytes of a string, in place. */
  string(): Buffer {
    return this.#take(this.uint32());
  }

  /** Returns a string of visible ASCII or UTF-8 text. Throws if it is longer than `maxBytes`. */
  text(maxBytes = 1_024): string {
    const bytes = this.string();
    if (bytes.length > maxBytes) throw new SshViolation(`a text has ${bytes.length} bytes, the maximum is ${maxBytes}`);
    return bytes.toString("utf8");
  }

  nameList(): readonly string[] {
    const names = this.string().toString("latin1");
    return names === "" ? [] : names.split(",");
  }

  #take(length: number): Buffer {
    if (length > this.left) throw new SshViolation("a message is shorter than its fields");
    const taken = this.bytes.subarray(this.at, this.at + length);
    this.at += length;
    return taken;
  }
}

export function encodeUint32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

export function encodeString(value: string | Uint8Array): Buffer {
  const bytes = typeof value === "string" ? Buffer.from(value) : value;
  return Buffer.concat([encodeUint32(bytes.length), bytes]);
}

/** Returns a non-negative integer in the form of an `mpint`. */
export function encodeMpint(value: Uint8Array): Buffer {
  let start = 0;
  while (start < value.length && value[start] === 0) start += 1;
  const digits = value.subarray(start);
  const isHigh = ((digits[0] ?? 0) & 0x80) !== 0;
  return encodeString(isHigh ? Buffer.concat([Buffer.of(0), digits]) : digits);
}

/** Returns a message of its number and fields. */
export function encodeMessage(number: number, ...fields: readonly Uint8Array[]): Buffer {
  return Buffer.concat([Buffer.of(number), ...fields]);
}

export const yes = Buffer.of(1);
export const no = Buffer.of(0);
