/** Reads the fields of a protobuf message. */

export interface ProtoField {
  readonly field: number;
  /** Of a varint, or the lower 64 bits of a fixed field as they are in `bytes`. */
  readonly value: number;
  /** Content of a length-delimited or fixed field. Undefined for a varint. */
  readonly bytes: Uint8Array | undefined;
}

/** Throws for bytes that are no message. */
export function* fieldsOf(message: Uint8Array): Generator<ProtoField> {
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let scale = 1; ; scale *= 0x80) {
      const byte = message[at];
      if (byte === undefined || scale > 2 ** 63) throw new Error("read a protobuf number: it does not end");
      at += 1;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
  };
  while (at < message.length) {
    const tag = varint();
    const field = Math.floor(tag / 8);
    const type = tag % 8;
    if (type === 0) {
      yield { field, value: varint(), bytes: undefined };
      continue;
    }
    const length = type === 1 ? 8 : type === 5 ? 4 : type === 2 ? varint() : Infinity;
    if (at + length > message.length) throw new Error(`read field ${field} of a protobuf message: it does not fit`);
    yield { field, value: 0, bytes: message.subarray(at, at + length) };
    at += length;
  }
}
