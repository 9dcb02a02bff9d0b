/**
 * Reads MMDB files (MaxMind DB file format, version 2): a binary tree of address bits, and a data section with records.
 * No content of the file can make a look-up loop, throw or allocate without bound: the tree is walked for at most 128
 * bits, and `RecordReader` bounds each record.
 */
import type { Steps } from "../lib/slices.ts";
import { DamagedDatabase, RecordReader } from "./mmdb-record.ts";
import type { RecordValue } from "./mmdb-record.ts";

const marker = Buffer.from("abcdef4d61784d696e642e636f6d", "hex");
/** The metadata is at the end of the file, in at most this many bytes. */
const mostMetadataBytes = 128 * 1024;
/** Zeros between the tree and the data section. */
const separatorBytes = 16;
/** Nodes that are checked between two steps. */
const nodesPerStep = 20_000;
/** Records that are read by a check, evenly spaced. */
const mostReadRecords = 100_000;
/** Records that are read between two steps. */
const recordsPerStep = 100;

export interface MmdbFacts {
  /** Such as `GeoLite2-City`. */
  readonly type: string;
  /** When the database was made, milliseconds since 1970. */
  readonly builtAt: number;
}

interface Metadata extends MmdbFacts {
  readonly nodes: number;
  /** Bits of a record: 24, 28 or 32. Each node has two. */
  readonly recordSize: number;
  readonly ipVersion: number;
}

export class Mmdb {
  readonly facts: MmdbFacts;
  readonly #bytes: Buffer;
  readonly #nodes: number;
  readonly #recordSize: number;
  readonly #dataBytes: number;
  /** The node, or value, from which IPv4 addresses are looked up. */
  readonly #ipv4Start: number;
  readonly #hasIpv6: boolean;
  readonly #records: RecordReader;

  /**
   * Throws `DamagedDatabase` if the file is not a database or its sections do not fit. See also `check`.
   *
   * @param wanted members of records that are read. Default: all
   */
  constructor(bytes: Buffer, wanted?: ReadonlySet<string>) {
    const found = bytes.lastIndexOf(marker);
    if (found < 0 || found < bytes.length - mostMetadataBytes) {
      throw new DamagedDatabase("it has no metadata at its end, so it is not a complete MMDB file");
    }
    const { nodes, recordSize, ipVersion, ...facts } = readMetadata(bytes, found + marker.length);
    const treeBytes = (nodes * recordSize) / 4;
    this.#dataBytes = found - treeBytes - separatorBytes;
    if (this.#dataBytes < 0) throw new DamagedDatabase(`its tree of ${nodes} nodes is larger than the file`);
    this.facts = facts;
    this.#bytes = bytes;
    this.#nodes = nodes;
    this.#recordSize = recordSize;
    this.#hasIpv6 = ipVersion === 6;
    this.#records = new RecordReader(bytes, treeBytes + separatorBytes, found, wanted);
    this.#ipv4Start = ipVersion === 4 ? 0 : this.#walk(0, noWords, 96);
  }

  /**
   * Returns the offset of the record for an address in the form of `readAddress`; undefined if there is none. Damage
   * counts as none.
   */
  find(family: 4 | 6, words: Uint32Array): number | undefined {
    if (family === 6 && !this.#hasIpv6) return undefined;
    const value = family === 4 ? this.#walk(this.#ipv4Start, words, 32) : this.#walk(0, words, 128);
    const offset = value - this.#nodes - separatorBytes;
    return value > this.#nodes && offset >= 0 && offset < this.#dataBytes ? offset : undefined;
  }

  /** Reads the record at an offset that `find` returned. Throws `DamagedDatabase`. */
  read(offset: number): RecordValue {
    return this.#records.read(offset);
  }

  /**
   * Checks every node, and reads up to 100,000 records, in steps. Throws `DamagedDatabase`.
   *
   * @param seen called with each record that is read
   */
  *check(seen: (record: RecordValue) => void = () => {}): Steps<void> {
    const offsets = yield* this.#recordOffsets();
    const every = Math.ceil(offsets.length / mostReadRecords);
    for (let at = 0; at < offsets.length; at += every) {
      seen(this.read(offsets[at] as number));
      if (at % (recordsPerStep * every) === 0) yield;
    }
  }

  /**
   * Yields the ends of all branches in pre-order: how many nodes were entered since the last one, and the offset of its
   * record, undefined without one. For files that are known to be sound.
   */
  *leaves(): Iterable<{ readonly opened: number; readonly offset: number | undefined }> {
    const waiting = [0];
    let opened = 0;
    for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
      if (value < this.#nodes) {
        opened += 1;
        waiting.push(this.#child(value, 1), this.#child(value, 0));
      } else {
        yield { opened, offset: value > this.#nodes ? value - this.#nodes - separatorBytes : undefined };
        opened = 0;
      }
    }
  }

  /** Returns the distinct records to which the tree leads, in order. */
  *#recordOffsets(): Steps<readonly number[]> {
    const isUsed = new Uint8Array(Math.ceil(this.#dataBytes / 8));
    for (let node = 0; node < this.#nodes; node += 1) {
      for (const bit of [0, 1] as const) {
        const value = this.#child(node, bit);
        if (value <= this.#nodes) continue;
        const offset = value - this.#nodes - separatorBytes;
        if (offset < 0 || offset >= this.#dataBytes) {
          throw new DamagedDatabase(`node ${node} of its tree leads outside the data`);
        }
        isUsed[offset >> 3] = (isUsed[offset >> 3] as number) | (1 << (offset & 7));
      }
      if (node % nodesPerStep === 0) yield;
    }
    const offsets: number[] = [];
    for (let at = 0; at < isUsed.length; at += 1) {
      const byte = isUsed[at] as number;
      for (let bit = 0; byte >> bit > 0; bit += 1) if ((byte >> bit) & 1) offsets.push(at * 8 + bit);
      if (at % (nodesPerStep * 10) === 0) yield;
    }
    return offsets;
  }

  /** Follows bits from the most significant one. Returns the value at which they end: a node, nothing, or a record. */
  #walk(start: number, words: Uint32Array, bits: number): number {
    let value = start;
    for (let at = 0; at < bits && value < this.#nodes; at += 1) {
      value = this.#child(value, ((words[at >> 5] as number) >>> (31 - (at & 31))) & 1);
    }
    return value;
  }

  #child(node: number, bit: number): number {
    const bytes = this.#bytes;
    if (this.#recordSize === 24) {
      const at = node * 6 + bit * 3;
      return ((bytes[at] as number) << 16) | ((bytes[at + 1] as number) << 8) | (bytes[at + 2] as number);
    }
    if (this.#recordSize === 28) {
      const at = node * 7 + bit * 4;
      const middle = bytes[node * 7 + 3] as number;
      const high = bit === 0 ? middle >> 4 : middle & 15;
      return (
        (high << 24) | ((bytes[at] as number) << 16) | ((bytes[at + 1] as number) << 8) | (bytes[at + 2] as number)
      );
    }
    return bytes.readUInt32BE(node * 8 + bit * 4);
  }
}

const noWords = new Uint32Array(4);

function readMetadata(bytes: Buffer, start: number): Metadata {
  const read = new RecordReader(bytes, start, bytes.length).read(0);
  const of = (typeof read === "object" ? read : {}) as Readonly<Record<string, RecordValue>>;
  const number = (name: string, most: number): number => {
    const value = of[name];
    if (typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= most) return value;
    throw new DamagedDatabase(`its metadata has no valid ${name}`);
  };
  const version = number("binary_format_major_version", 65_535);
  if (version !== 2) throw new DamagedDatabase(`its format has version ${version}, only 2 can be read`);
  const recordSize = number("record_size", 65_535);
  if (![24, 28, 32].includes(recordSize)) throw new DamagedDatabase(`its tree has records of ${recordSize} bits`);
  const ipVersion = number("ip_version", 65_535);
  if (ipVersion !== 4 && ipVersion !== 6) throw new DamagedDatabase(`it has addresses of IP version ${ipVersion}`);
  const type = of["database_type"];
  return {
    type: typeof type === "string" ? type : "",
    builtAt: number("build_epoch", 1e11) * 1000,
    nodes: number("node_count", 0xffffffff),
    recordSize,
    ipVersion,
  };
}
