/** The blocks of captured requests on the disk of this node. */
import { open, readdir } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { join } from "node:path";
import type {
  BlockAnswer,
  BlockList,
  BlockQuestion,
  BlockRange,
  CaptureGap,
  StoredBlock,
} from "../../routing/planes/captured-blocks.ts";
import { accountDirectory, readSegmentName } from "./segment-name.ts";
import { readIndex } from "./segment-index.ts";
import type { SegmentIndex } from "./segment-index.ts";

/** Where blocks are read from: this node's disk, or another node. */
export interface BlockSource {
  /** Lists the blocks that may have records of the range. */
  list(range: BlockRange): Promise<BlockList>;
  /** Resolves with undefined if the block was deleted in the meantime. Rejects if it cannot be read. */
  read(block: StoredBlock): Promise<Buffer | undefined>;
}

/** Maximum bytes of the blocks in one answer, unless one block alone is larger. Edges carry answers between traffic. */
export const maxAnswerBytes = 256 * 1024;
/** Number of blocks after which a list continues in another answer. */
const maxListed = 1_000;
/** Longer blocks are not read for other nodes. */
const maxBlockBytes = 4 * 1024 * 1024;

export function diskBlocks(directory: string, accountId: string): BlockSource {
  const ofAccount = accountDirectory(directory, accountId);
  return {
    async list(range) {
      const blocks: StoredBlock[] = [];
      const gaps: CaptureGap[] = [];
      for (const segment of await segmentsIn(ofAccount)) await listSegment(ofAccount, segment, range, { blocks, gaps });
      return { blocks, gaps };
    },
    read: (block) => readBlock(ofAccount, block),
  };
}

/** Answers another node. */
export async function answerBlocks(directory: string, question: BlockQuestion): Promise<BlockAnswer> {
  const ofAccount = accountDirectory(directory, question.accountId);
  if (question.want === "blocks") return { is: "blocks", blocks: await readBlocks(ofAccount, question.blocks) };
  const blocks: StoredBlock[] = [];
  const gaps: CaptureGap[] = [];
  for (const segment of await segmentsIn(ofAccount)) {
    if (segment <= question.after) continue;
    await listSegment(ofAccount, segment, question, { blocks, gaps });
    if (blocks.length >= maxListed) return { is: "list", blocks, gaps, after: segment };
  }
  return { is: "list", blocks, gaps, after: undefined };
}

async function readBlocks(
  ofAccount: string,
  wanted: readonly Pick<StoredBlock, "segment" | "offset" | "length">[],
): Promise<readonly (string | null)[]> {
  const found: (string | null)[] = [];
  let bytes = 0;
  for (const block of wanted.slice(0, maxListed)) {
    if (readSegmentName(block.segment) === undefined || !(block.length <= maxBlockBytes)) {
      throw new Error(`read a block of captured requests: "${block.segment}" is no segment, or the block is too long`);
    }
    bytes += block.length;
    if (bytes > maxAnswerBytes && found.length > 0) break;
    found.push((await readBlock(ofAccount, block))?.toString("base64") ?? null);
  }
  return found;
}

async function listSegment(
  ofAccount: string,
  segment: string,
  { since = -Infinity, until = Infinity }: BlockRange,
  { blocks, gaps }: { readonly blocks: StoredBlock[]; readonly gaps: CaptureGap[] },
): Promise<void> {
  const index = await indexOf(join(ofAccount, segment));
  for (let left = index.damaged; left > 0; left -= 1) {
    const [first, last] = [index.blocks[0], index.blocks.at(-1)];
    gaps.push({ reason: "damaged", since: first?.minAt, until: last?.maxAt, records: undefined });
  }
  for (const block of index.blocks) {
    const { minAt, maxAt, dropped } = block;
    if (maxAt < since * 1000 || minAt >= until * 1000) continue;
    if (dropped > 0) gaps.push({ reason: "dropped", since: minAt, until: maxAt, records: dropped });
    if (block.count > 0) blocks.push({ ...block, segment });
  }
}

/** Returns the file names of segments in the order in which they were begun. */
async function segmentsIn(ofAccount: string): Promise<readonly string[]> {
  try {
    return (await readdir(ofAccount)).filter((file) => readSegmentName(file) !== undefined).sort();
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

async function readBlock(
  ofAccount: string,
  { segment, offset, length }: Pick<StoredBlock, "segment" | "offset" | "length">,
): Promise<Buffer | undefined> {
  const handle = await openIfThere(join(ofAccount, segment));
  if (handle === undefined) return undefined;
  try {
    const block = Buffer.alloc(length);
    await handle.read(block, 0, length, offset);
    return block;
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
