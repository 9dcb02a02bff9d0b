/**
 * The database of countries that Postern ships. In the checkout it is the file of a package. Artifacts have it in a tenth
 * of the size: the shape of the tree as bits in pre-order, then the country of each leaf as one byte.
 */
import { createRequire } from "node:module";
import { readFile } from "node:fs/promises";
import { zstdCompressSync, zstdDecompress, constants } from "node:zlib";
import { promisify } from "node:util";
import { readOwnFile } from "../lib/io/own-file.ts";
import { locationOf } from "./location.ts";
import { Mmdb } from "./mmdb.ts";
import { DamagedDatabase } from "./mmdb-record.ts";
import { encodeAll, mmdbMetadata } from "./encode-mmdb.ts";

/** Path in artifacts. */
export const packedCountriesPath = "data/countries.zst";

/** Data of the five regional registries: CC BY 4.0 by the Number Resource Organization, nro.net. */
const source = "@ip-location-db/geo-whois-asn-country-mmdb/geo-whois-asn-country.mmdb";
/** Bytes of the unpacked form. The present one has 1.7 MB. */
const mostPackedBytes = 32 * 1024 * 1024;

interface Head {
  readonly builtAt: number;
  readonly nodes: number;
  /** By the byte of a leaf. The first one is "", for addresses without a country. */
  readonly codes: readonly string[];
}

/** Reads the shipped database. Rejects if the file is missing or damaged. */
export async function readShippedCountries(): Promise<Buffer> {
  const packed = readPacked();
  return packed ?? (await readFile(createRequire(import.meta.url).resolve(source)));
}

function readPacked(): Promise<Buffer> | undefined {
  let packed: Buffer;
  try {
    packed = readOwnFile(packedCountriesPath);
  } catch {
    // In a checkout.
    return undefined;
  }
  return unpackCountries(packed);
}

/** Packs a database of countries whose tree has records of 24 bits. Throws for another. */
export function packCountries(bytes: Buffer): Buffer {
  const database = new Mmdb(bytes);
  const codes = [""];
  /** Positions in `codes` by the record's offset. -1: no record. */
  const byOffset = new Map([[-1, 0]]);
  const shape: number[] = [];
  const leaves: number[] = [];
  for (const leaf of database.leaves()) {
    for (let opened = 0; opened < leaf.opened; opened += 1) shape.push(1);
    shape.push(0);
    const offset = leaf.offset ?? -1;
    let at = byOffset.get(offset);
    if (at === undefined) {
      const code = locationOf(database.read(offset)).countryCode;
      byOffset.set(offset, (at = code === "" ? 0 : codes.push(code) - 1));
    }
    leaves.push(at);
  }
  const head: Head = { builtAt: database.facts.builtAt, nodes: leaves.length - 1, codes };
  const bits = Buffer.alloc(Math.ceil(shape.length / 8));
  for (const [at, bit] of shape.entries()) bits[at >> 3] = (bits[at >> 3] as number) | (bit << (at & 7));
  const text = Buffer.from(`${JSON.stringify(head)}\n`);
  const level = { params: { [constants.ZSTD_c_compressionLevel]: 19 } };
  return zstdCompressSync(Buffer.concat([text, bits, Buffer.from(leaves)]), level);
}

/** Returns the database as an MMDB file. Rejects with `DamagedDatabase` or an error of the decompression. */
export async function unpackCountries(packed: Buffer): Promise<Buffer> {
  const bytes = await promisify(zstdDecompress)(packed, { maxOutputLength: mostPackedBytes });
  const end = bytes.indexOf(10);
  const head = JSON.parse(bytes.latin1Slice(0, Math.max(end, 0))) as Head;
  const shapeBytes = Math.ceil((2 * head.nodes + 1) / 8);
  const shape = bytes.subarray(end + 1, end + 1 + shapeBytes);
  const leaves = bytes.subarray(end + 1 + shapeBytes);
  if (leaves.length !== head.nodes + 1) throw new DamagedDatabase("its leaves do not fit its tree");
  return rebuildDatabase(head, shape, leaves);
}

function rebuildDatabase({ nodes, codes, builtAt }: Head, shape: Buffer, leaves: Buffer): Buffer {
  const { encoded, offsets } = encodeAll(codes.map((code) => ({ country_code: code })));
  const tree = Buffer.alloc(nodes * 6 + 16);
  /** Links to fill, as positions in the tree. The last one is next. */
  const open: number[] = [];
  let node = 0;
  let leaf = 0;
  for (let at = 0; at < 2 * nodes + 1; at += 1) {
    const isNode = (((shape[at >> 3] as number) >> (at & 7)) & 1) === 1;
    const link = open.pop();
    if (link === undefined && at > 0) throw new DamagedDatabase("its tree ends early");
    if (isNode) {
      if (node === nodes) throw new DamagedDatabase("its tree has too many nodes");
      if (link !== undefined) writeRecord(tree, link, node);
      open.push(node * 6 + 3, node * 6);
      node += 1;
    } else if (link !== undefined) {
      const code = leaves[leaf] as number;
      writeRecord(tree, link, code === 0 ? nodes : nodes + 16 + (offsets[code] as number));
      leaf += 1;
    }
  }
  return Buffer.concat([tree, encoded, mmdbMetadata({ type: "countries", builtAt, ipVersion: 6 }, nodes, 24)]);
}

function writeRecord(tree: Buffer, at: number, value: number): void {
  tree[at] = value >>> 16;
  tree[at + 1] = value >>> 8;
  tree[at + 2] = value;
}
