/** Small MMDB files with known content. */
import { parseCidr } from "../../src/lib/address.ts";
import { AddressBook } from "../../src/geo/address-book.ts";
import type { AddressData } from "../../src/geo/address-book.ts";
import { encodeAll, mmdbMetadata } from "../../src/geo/encode-mmdb.ts";
import type { MmdbDescription, Written } from "../../src/geo/encode-mmdb.ts";

export interface MmdbOptions extends Partial<MmdbDescription> {
  readonly recordSize?: 24 | 28 | 32;
}

type Branch = [Child, Child];
type Child = Branch | number | undefined;

/** Returns a database with these networks. A network inside another must come after it. */
export function mmdbOf(networks: Readonly<Record<string, Written>>, options: MmdbOptions = {}): Buffer {
  const { type = "Test", builtAt = Date.UTC(2026, 10, 1), ipVersion = 6, recordSize = 24 } = options;
  const root: Branch = [undefined, undefined];
  for (const [at, cidr] of Object.keys(networks).entries()) insert(root, bitsOf(cidr, ipVersion), at);
  const { encoded, offsets } = encodeAll(Object.values(networks));
  const nodes: Branch[] = [];
  const list = (branch: Branch): void => {
    nodes.push(branch);
    for (const child of branch) if (typeof child === "object") list(child);
  };
  list(root);
  const numberOf = new Map(nodes.map((node, at) => [node, at]));
  const valueOf = (child: Child): number => {
    if (child === undefined) return nodes.length;
    return typeof child === "object" ? (numberOf.get(child) as number) : nodes.length + 16 + (offsets[child] as number);
  };
  const tree = Buffer.concat(nodes.map(([left, right]) => encodeNode(valueOf(left), valueOf(right), recordSize)));
  const description = { type, builtAt, ipVersion };
  return Buffer.concat([tree, Buffer.alloc(16), encoded, mmdbMetadata(description, nodes.length, recordSize)]);
}

/** In an IPv6 tree, IPv4 addresses are below 96 zeros. */
function bitsOf(cidr: string, ipVersion: 4 | 6): readonly (0 | 1)[] {
  const network = parseCidr(cidr);
  if (!network) throw new Error(`"${cidr}" is not a network`);
  const { family, prefix, first } = network;
  const own = Array.from(
    { length: prefix },
    (_, at) => (((first[at >> 5] as number) >>> (31 - (at & 31))) & 1) as 0 | 1,
  );
  return family === 4 && ipVersion === 6 ? [...Array.from({ length: 96 }, () => 0 as const), ...own] : own;
}

function insert(root: Branch, bits: readonly (0 | 1)[], record: number): void {
  let branch = root;
  for (const [at, bit] of bits.entries()) {
    if (at === bits.length - 1) {
      branch[bit] = record;
      return;
    }
    const child = branch[bit];
    // A network inside another one splits it.
    const next: Branch = typeof child === "object" ? child : [child, child];
    branch[bit] = next;
    branch = next;
  }
}

function encodeNode(left: number, right: number, recordSize: 24 | 28 | 32): Buffer {
  const bytes = Buffer.alloc(recordSize / 4);
  if (recordSize === 32) {
    bytes.writeUInt32BE(left);
    bytes.writeUInt32BE(right, 4);
    return bytes;
  }
  bytes.writeUIntBE(left & 0xffffff, 0, 3);
  bytes.writeUIntBE(right & 0xffffff, recordSize === 24 ? 3 : 4, 3);
  if (recordSize === 28) bytes[3] = ((left >>> 24) << 4) | (right >>> 24);
  return bytes;
}

/** Records of the form that MaxMind's databases of countries have. */
export function country(code: string): Written {
  return { country: { iso_code: code } };
}

function shared(bytes: Buffer): SharedArrayBuffer {
  const own = new SharedArrayBuffer(bytes.length);
  Buffer.from(own).set(bytes);
  return own;
}

/** Locations by this database, loaded. */
export function addressesOf(database: Buffer, categories: AddressData["categories"] = []): AddressBook {
  const book = new AddressBook(() => {});
  book.take(dataOf(database, categories));
  return book;
}

export function dataOf(database: Buffer, categories: AddressData["categories"] = []): AddressData {
  return { databases: [{ bytes: shared(database), isOnlyForPublic: false }], hasCountries: true, categories };
}
