/** Reads one node's captured requests from its disk, in any thread of any process that has the keys. */
import { open, readdir } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { join } from "node:path";
import type { CapturedRequest } from "../record.ts";
import { recordsIn } from "../format/record-reader.ts";
import { matcherOf } from "../query.ts";
import type { CaptureQuery } from "../query.ts";
import { openBlock } from "./block.ts";
import { AccountKeys } from "./keys.ts";
import type { CaptureKey } from "./keys.ts";
import { accountDirectory, blockContext, readSegmentName } from "./segment-name.ts";
import type { SegmentName } from "./segment-name.ts";
import { readIndex } from "./segment-index.ts";
import type { BlockPlace, SegmentIndex } from "./segment-index.ts";

/** Where the records are, and the keys that open them: plain data that can cross threads. */
export interface CapturePlaces {
  readonly directory: string;
  /** Oldest first. */
  readonly keys: readonly CaptureKey[];
}

/** A place without the records that belong there. */
export interface CaptureGap {
  readonly reason: "damaged" | "dropped" | "unreadable";
  /** Arrival of the earliest and latest request around it, microseconds since 1970; undefined if unknown. */
  readonly since: number | undefined;
  readonly until: number | undefined;
  /** Number of missing records; undefined if unknown. */
  readonly records: number | undefined;
}

export interface ReadOptions {
  readonly newestFirst?: boolean;
  /** Called for each place without its records. */
  readonly gap?: (gap: CaptureGap) => void;
}

/** Maximum number of records that wait for earlier ones, which arrive late if their requests took long. */
const maxWaiting = 20_000;

/**
 * Yields the wanted records of the account, in the order in which their requests arrived. Damaged blocks are skipped
 * and reported. Records of the last second may still be in the server's memory.
 */
export async function* readRecords(
  { directory, keys }: CapturePlaces,
  query: CaptureQuery,
  { newestFirst = false, gap = () => {} }: ReadOptions = {},
): AsyncGenerator<CapturedRequest> {
  const fits = matcherOf(query);
  const sign = newestFirst ? -1 : 1;
  const places = await blocksOf(directory, query, gap);
  places.sort((one, other) => (newestFirst ? other.maxAt - one.maxAt : one.minAt - other.minAt));
  const accountKeys = new AccountKeys(query.accountId, keys);
  let waiting: CapturedRequest[] = [];
  for (const [at, place] of places.entries()) {
    for (const record of await recordsOf(place, query.accountId, accountKeys, gap))
      if (fits(record)) waiting.push(record);
    waiting.sort((one, other) => sign * (one.receivedAt - other.receivedAt));
    // All records of later blocks come after this time.
    const next = places[at + 1];
    const bound = next === undefined ? Infinity * sign : newestFirst ? next.maxAt : next.minAt;
    let count = 0;
    while (count < waiting.length && sign * ((waiting[count] as CapturedRequest).receivedAt - bound) < 0) count += 1;
    count = Math.max(count, waiting.length - maxWaiting);
    const ready = waiting.slice(0, count);
    waiting = waiting.slice(count);
    yield* ready;
  }
}

interface PlacedBlock extends BlockPlace {
  readonly file: string;
  readonly name: SegmentName;
}

/** Returns the blocks that may have wanted records. */
async function blocksOf(
  directory: string,
  { accountId, since = -Infinity, until = Infinity }: CaptureQuery,
  gap: (gap: CaptureGap) => void,
): Promise<PlacedBlock[]> {
  const places: PlacedBlock[] = [];
  const ofAccount = accountDirectory(directory, accountId);
  for (const entry of await segmentsIn(ofAccount)) {
    const name = readSegmentName(entry);
    if (name === undefined) continue;
    const file = join(ofAccount, entry);
    const { blocks, damaged } = await indexOf(file);
    for (let left = damaged; left > 0; left -= 1) {
      gap({ reason: "damaged", since: blocks[0]?.minAt, until: blocks.at(-1)?.maxAt, records: undefined });
    }
    for (const block of blocks) {
      if (block.maxAt < since * 1000 || block.minAt >= until * 1000) continue;
      if (block.dropped > 0) gap({ reason: "dropped", since: block.minAt, until: block.maxAt, records: block.dropped });
      if (block.count > 0) places.push({ ...block, file, name });
    }
  }
  return places;
}

async function segmentsIn(directory: string): Promise<readonly string[]> {
  try {
    return (await readdir(directory)).sort();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

/** A segment that was deleted in the meantime is empty. */
async function indexOf(file: string): Promise<SegmentIndex> {
  const handle = await openIfThere(file);
  if (handle === undefined) return { blocks: [], damaged: 0, end: 0 };
  try {
    return await readIndex(handle);
  } finally {
    await handle.close();
  }
}

async function openIfThere(file: string): Promise<FileHandle | undefined> {
  try {
    return await open(file, "r");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

async function recordsOf(
  { file, name, offset, length, minAt, maxAt, count }: PlacedBlock,
  accountId: string,
  keys: AccountKeys,
  gap: (gap: CaptureGap) => void,
): Promise<readonly CapturedRequest[]> {
  const at = { since: minAt, until: maxAt, records: count };
  const key = keys.sealing(name.keyId);
  if (key === undefined) {
    gap({ reason: "unreadable", ...at });
    return [];
  }
  const handle = await openIfThere(file);
  if (handle === undefined) return [];
  try {
    const block = Buffer.allocUnsafe(length);
    await handle.read(block, 0, length, offset);
    const raw = openBlock(block, key, blockContext(accountId, name));
    return Array.from(recordsIn(raw), ({ record }) => record);
  } catch {
    gap({ reason: "damaged", ...at });
    return [];
  } finally {
    await handle.close();
  }
}
