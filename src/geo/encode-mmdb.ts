/** Writes the parts of an MMDB file after its tree. */

export type Written = string | number | boolean | readonly Written[] | { readonly [name: string]: Written };

export interface MmdbDescription {
  readonly type: string;
  /** Milliseconds since 1970. */
  readonly builtAt: number;
  readonly ipVersion: 4 | 6;
}

const marker = Buffer.from("abcdef4d61784d696e642e636f6d", "hex");

/** The end of a file, from the marker on. */
export function mmdbMetadata(content: MmdbDescription, nodes: number, bits: 24 | 28 | 32): Buffer {
  const metadata = {
    binary_format_major_version: 2,
    binary_format_minor_version: 0,
    build_epoch: Math.floor(content.builtAt / 1000),
    database_type: content.type,
    description: { en: content.type },
    ip_version: content.ipVersion,
    languages: ["en"],
    node_count: nodes,
    record_size: bits,
  };
  return Buffer.concat([marker, encodeValue(metadata)]);
}

/** Returns the data section, and the offset of each record in it. */
export function encodeAll(records: readonly Written[]): {
  readonly encoded: Buffer;
  readonly offsets: readonly number[];
} {
  const parts = records.map(encodeValue);
  let at = 0;
  const offsets = parts.map(({ length }) => (at += length) - length);
  return { encoded: Buffer.concat(parts), offsets };
}

function encodeValue(value: Written): Buffer {
  if (typeof value === "string") {
    const text = Buffer.from(value);
    return Buffer.concat([encodeHead(2, text.length), text]);
  }
  if (typeof value === "boolean") return encodeHead(14, value ? 1 : 0);
  if (typeof value === "number")
    return Number.isInteger(value) && value >= 0 ? encodeInteger(value) : encodeDouble(value);
  if (Array.isArray(value))
    return Buffer.concat([encodeHead(11, value.length), ...(value as Written[]).map(encodeValue)]);
  const members = Object.entries(value);
  return Buffer.concat([
    encodeHead(7, members.length),
    ...members.flatMap(([name, one]) => [encodeValue(name), encodeValue(one)]),
  ]);
}

function encodeInteger(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(value));
  const isShort = value <= 0xffffffff;
  return Buffer.concat([encodeHead(isShort ? 6 : 9, isShort ? 4 : 8), bytes.subarray(isShort ? 4 : 0)]);
}

function encodeDouble(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleBE(value);
  return Buffer.concat([encodeHead(3, 8), bytes]);
}

function encodeHead(type: number, size: number): Buffer {
  const [short, more] =
    size < 29 ? [size, []] : size < 285 ? [29, [size - 29]] : [30, [(size - 285) >> 8, (size - 285) & 255]];
  return Buffer.from(type > 7 ? [short, type - 7, ...more] : [(type << 5) | short, ...more]);
}
