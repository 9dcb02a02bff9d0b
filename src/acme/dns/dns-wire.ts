/** Names and fields of DNS messages (RFC 1035 §4.1). */

/** Returns the wire form of `name`, in lower case and without compression. @throws Error for labels that do not fit */
export function wireName(name: string): Buffer {
  const labels = name === "" ? [] : name.toLowerCase().replace(/\.$/, "").split(".");
  const parts = labels.map((label) => {
    const bytes = Buffer.from(label, "latin1");
    if (bytes.length === 0 || bytes.length > 63) throw new Error(`"${name}" is not a DNS name`);
    return Buffer.concat([Buffer.of(bytes.length), bytes]);
  });
  const whole = Buffer.concat([...parts, Buffer.of(0)]);
  if (whole.length > 255) throw new Error(`"${name}" is too long for a DNS name`);
  return whole;
}

export function encodeUint16(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 2);
  values.forEach((value, at) => bytes.writeUInt16BE(value, at * 2));
  return bytes;
}

export function encodeUint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** Offset after the name at `at`, which may end with a reference. @throws RangeError outside the message */
export function skipName(message: Buffer, at: number): number {
  for (let offset = at; ;) {
    const length = message.readUInt8(offset);
    if (length === 0) return offset + 1;
    if ((length & 0xc0) === 0xc0) return offset + 2;
    if (length > 63) throw new RangeError("the message has a malformed name");
    offset += 1 + length;
  }
}
