/** Loads database files without blocking the thread: read in pieces, checked in slices. */
import { open } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { runInSlices } from "../lib/slices.ts";
import type { AddressDatabase } from "./address-book.ts";
import { knownFields, locationOf, readMembers } from "./location.ts";
import { Mmdb } from "./mmdb.ts";
import { DamagedDatabase } from "./mmdb-record.ts";
import { readShippedCountries } from "./shipped-countries.ts";

/** Maximum size of a file. The largest city databases have 130 MB. */
export const mostDatabaseBytes = 512 * 1024 * 1024;
const pieceBytes = 1024 * 1024;

export interface LoadedDatabase extends AddressDatabase {
  readonly type: string;
  /** When the database was made, milliseconds since 1970. */
  readonly builtAt: number;
  readonly hasCountries: boolean;
  /** Fields of `Location` that some record has. */
  readonly fields: ReadonlySet<string>;
}

/** Rejects with `DamagedDatabase`, whose message continues "the file …", or an error of the system. */
export async function loadDatabase(path: string): Promise<LoadedDatabase> {
  const bytes = await readShared(path);
  const database = new Mmdb(Buffer.from(bytes), readMembers);
  const fields = new Set<string>();
  const seen = (record: Parameters<typeof locationOf>[0]): void => {
    for (const field of knownFields(locationOf(record))) fields.add(field);
  };
  await runInSlices("locations", database.check(seen));
  return { bytes, isOnlyForPublic: false, hasCountries: fields.has("countryCode"), fields, ...database.facts };
}

/** Loads the database of countries that Postern ships. */
export async function loadShippedCountries(): Promise<LoadedDatabase> {
  const file = await readShippedCountries();
  const bytes = new SharedArrayBuffer(file.length);
  Buffer.from(bytes).set(file);
  // Its source has private networks in some country.
  const fields = new Set(["countryCode"]);
  return { bytes, isOnlyForPublic: true, hasCountries: true, fields, ...new Mmdb(file).facts };
}

async function readShared(path: string): Promise<SharedArrayBuffer> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    if (size > mostDatabaseBytes) {
      throw new DamagedDatabase(`has ${size} bytes, at most ${mostDatabaseBytes} are read`);
    }
    const shared = new SharedArrayBuffer(size);
    await fillBuffer(file, Buffer.from(shared));
    return shared;
  } finally {
    await file.close();
  }
}

/** Reads through a private piece, because a file that shrinks or grows meanwhile must not leave zeros. */
async function fillBuffer(file: FileHandle, target: Buffer): Promise<void> {
  const piece = Buffer.alloc(Math.min(pieceBytes, target.length + 1));
  for (let at = 0; ;) {
    const { bytesRead } = await file.read(piece, 0, piece.length, at);
    if (at + bytesRead > target.length || (bytesRead === 0 && at < target.length)) {
      throw new DamagedDatabase("changed while it was read");
    }
    if (bytesRead === 0) return;
    target.set(piece.subarray(0, bytesRead), at);
    at += bytesRead;
  }
}
