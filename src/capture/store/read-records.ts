/** Reads captured requests from the disk of this node, and from other nodes, in any thread that has the keys. */
import type { CaptureGap, RecordingNode, StoredBlock } from "../../routing/planes/captured-blocks.ts";
import type { CapturedRequest } from "../captured-request.ts";
import { recordsIn } from "../format/record-reader.ts";
import { matcherOf } from "../query.ts";
import type { CaptureQuery } from "../query.ts";
import { openBlock } from "./block.ts";
import { diskBlocks } from "./disk-blocks.ts";
import type { BlockSource } from "./disk-blocks.ts";
import { AccountKeys } from "./capture-keys.ts";
import type { CaptureKey } from "./capture-keys.ts";
import { nodeBlocks } from "./node-blocks.ts";
import { blockContext, readSegmentName } from "./segment-name.ts";

/** Where the records are, and the keys that open them: plain data that can cross threads. */
export interface CapturePlaces {
  readonly directory: string;
  /** Oldest first. All nodes of a cluster have the same ones. */
  readonly keys: readonly CaptureKey[];
}

export interface ReadOptions {
  readonly newestFirst?: boolean;
  /** Other nodes whose records are read, too. */
  readonly others?: readonly RecordingNode[];
  /**
   * Returns true when the caller has given up. Reading then fails with `SearchOver` before the next block.
   * At least one block is read.
   */
  readonly isOver?: () => boolean;
  /** Called for each place without its records. */
  readonly gap?: (gap: CaptureGap) => void;
}

/** Reading took too long. Everything before `at` in the order of reading was read, microseconds since 1970. */
export class SearchOver extends Error {
  readonly at: number;

  constructor(at: number) {
    super("read captured requests: it took too long; ask for a shorter time");
    this.at = at;
  }
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
  { newestFirst = false, others = [], isOver = () => false, gap = () => {} }: ReadOptions = {},
): AsyncGenerator<CapturedRequest> {
  const { accountId } = query;
  const fits = matcherOf(query);
  const sign = newestFirst ? -1 : 1;
  const disk: NodeBlocks = { nodeId: undefined, blocks: diskBlocks(directory, accountId) };
  const nodes = others.map((node): NodeBlocks => ({ nodeId: node.id, blocks: nodeBlocks(node, accountId) }));
  const places = await placesOf([disk, ...nodes], query, gap);
  places.sort((one, other) => (newestFirst ? other.maxAt - one.maxAt : one.minAt - other.minAt));
  const accountKeys = new AccountKeys(accountId, keys);
  let waiting: CapturedRequest[] = [];
  for (const [at, place] of places.entries()) {
    if (at > 0 && isOver()) throw new SearchOver(newestFirst ? place.maxAt : place.minAt);
    for (const record of await recordsOf(place, accountId, accountKeys, gap)) if (fits(record)) waiting.push(record);
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

interface NodeBlocks {
  /** Undefined for this node. */
  readonly nodeId: string | undefined;
  readonly blocks: BlockSource;
}

interface PlacedBlock extends StoredBlock {
  readonly source: NodeBlocks;
}

/** Returns the blocks that may have wanted records. */
async function placesOf(
  sources: readonly NodeBlocks[],
  { accountId, since, until }: CaptureQuery,
  gap: (gap: CaptureGap) => void,
): Promise<PlacedBlock[]> {
  const lists = await Promise.all(sources.map(({ blocks }) => blocks.list({ accountId, since, until })));
  for (const { gaps } of lists) for (const one of gaps) gap(one);
  return sources.flatMap((source, at) => (lists[at]?.blocks ?? []).map((block) => ({ ...block, source })));
}

async function recordsOf(
  block: PlacedBlock,
  accountId: string,
  keys: AccountKeys,
  gap: (gap: CaptureGap) => void,
): Promise<readonly CapturedRequest[]> {
  const { segment, minAt, maxAt, count, source } = block;
  const { nodeId } = source;
  const at = { since: minAt, until: maxAt, records: count, ...(nodeId !== undefined && { nodeId }) };
  const name = readSegmentName(segment);
  const key = name && keys.sealing(name.keyId);
  if (name === undefined || key === undefined) {
    gap({ reason: "unreadable", ...at });
    return [];
  }
  let bytes: Buffer | undefined;
  try {
    bytes = await source.blocks.read(block);
  } catch {
    gap({ reason: nodeId === undefined ? "damaged" : "unreached", ...at });
    return [];
  }
  if (bytes === undefined) return [];
  try {
    return Array.from(recordsIn(openBlock(bytes, key, blockContext(accountId, name))), ({ record }) => record);
  } catch {
    gap({ reason: "damaged", ...at });
    return [];
  }
}
