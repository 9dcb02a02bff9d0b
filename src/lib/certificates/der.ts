/** ASN.1 in DER (ITU-T X.690 §10, §11), limited to the types in X.509 certificates. */

export const tag = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  utf8String: 0x0c,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;

/** One parsed element: `whole` includes tag and length. */
export interface DerElement {
  readonly tag: number;
  readonly body: Buffer;
  readonly whole: Buffer;
}

/** Tag, definite length, and the parts one after another. */
export function encodeDer(elementTag: number, ...parts: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(parts);
  if (body.length < 0x80) return Buffer.concat([Buffer.from([elementTag, body.length]), body]);
  const length = unsignedBytes(BigInt(body.length));
  return Buffer.concat([Buffer.from([elementTag, 0x80 | length.length]), length, body]);
}

export function encodeSequence(...parts: readonly Uint8Array[]): Buffer {
  return encodeDer(tag.sequence, ...parts);
}

/** `[number]` with separate contents, `EXPLICIT` or a constructed `IMPLICIT`. */
export function encodeContext(number: number, ...parts: readonly Uint8Array[]): Buffer {
  return encodeDer(0xa0 | number, ...parts);
}

/** `[number] IMPLICIT` of a primitive type. */
export function contextPrimitive(number: number, bytes: Uint8Array): Buffer {
  return encodeDer(0x80 | number, bytes);
}

/** A non-negative integer, from a number or from big-endian bytes. */
export function encodeInteger(value: number | Uint8Array): Buffer {
  const given = typeof value === "number" ? unsignedBytes(BigInt(value)) : Buffer.from(value);
  let start = 0;
  while (start < given.length - 1 && given[start] === 0) start += 1;
  const bytes = given.subarray(start);
  return encodeDer(tag.integer, ...((bytes[0] ?? 0) >= 0x80 ? [Buffer.from([0]), bytes] : [bytes]));
}

export function encodeBoolean(value: boolean): Buffer {
  return encodeDer(tag.boolean, Buffer.from([value ? 0xff : 0]));
}

export function octetString(bytes: Uint8Array): Buffer {
  return encodeDer(tag.octetString, bytes);
}

export function bitString(bytes: Uint8Array, unusedBits = 0): Buffer {
  return encodeDer(tag.bitString, Buffer.from([unusedBits]), bytes);
}

/** An object identifier from its dotted form. */
export function encodeOid(dotted: string): Buffer {
  const arcs = dotted.split(".").map(Number);
  const [first = 0, second = 0, ...rest] = arcs;
  const bytes: number[] = [];
  for (const arc of [first * 40 + second, ...rest]) {
    const septets = [arc & 0x7f];
    for (let left = Math.floor(arc / 128); left > 0; left = Math.floor(left / 128))
      septets.unshift((left & 0x7f) | 0x80);
    bytes.push(...septets);
  }
  return encodeDer(tag.oid, Buffer.from(bytes));
}

/** A time in whole seconds, in the format of RFC 5280 §4.1.2.5: UTCTime up to 2049, GeneralizedTime after. */
export function encodeTime(epochMs: number): Buffer {
  const digits = new Date(epochMs).toISOString().replaceAll(/[-:T]/g, "").slice(0, 14);
  return digits < "2050"
    ? encodeDer(tag.utcTime, Buffer.from(`${digits.slice(2)}Z`, "latin1"))
    : encodeDer(tag.generalizedTime, Buffer.from(`${digits}Z`, "latin1"));
}

/**
 * Returns the consecutive elements in `bytes`. Throws on indefinite or non-minimal lengths, on tags above 30 and on
 * truncated elements.
 */
export function readDer(bytes: Buffer): DerElement[] {
  const elements: DerElement[] = [];
  for (let at = 0; at < bytes.length;) {
    const elementTag = bytes[at] as number;
    const short = bytes[at + 1];
    if (short === undefined || (elementTag & 0x1f) === 0x1f) throw new Error(`read DER: bad element at byte ${at}`);
    let length = short;
    let start = at + 2;
    if (short >= 0x80) {
      const count = short & 0x7f;
      if (count === 0 || count > 4 || start + count > bytes.length)
        throw new Error(`read DER: bad length at byte ${at}`);
      length = bytes.readUIntBE(start, count);
      if (length < 0x80 || length < 256 ** (count - 1)) throw new Error(`read DER: length not minimal at byte ${at}`);
      start += count;
    }
    const end = start + length;
    if (end > bytes.length) throw new Error(`read DER: element at byte ${at} is cut off`);
    elements.push({ tag: elementTag, body: bytes.subarray(start, end), whole: bytes.subarray(at, end) });
    at = end;
  }
  return elements;
}

function unsignedBytes(value: bigint): Buffer {
  const hex = value.toString(16);
  return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, "hex");
}
