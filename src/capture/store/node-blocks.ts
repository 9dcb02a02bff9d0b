/** The blocks of captured requests that another node has. */
import type { BlockRange, CaptureGap, RecordingNode, StoredBlock } from "../../routing/planes/captured-blocks.ts";
import { maxAnswerBytes } from "./disk-blocks.ts";
import type { BlockSource } from "./disk-blocks.ts";

/** A node that does not answer is asked nothing more, because each question takes its full time. */
export function nodeBlocks({ id, ask }: RecordingNode, accountId: string): BlockSource {
  let isLost = false;
  let listed: readonly StoredBlock[] = [];
  const positions = new Map<string, number>();
  /** Blocks that came with an earlier answer. */
  const ready = new Map<string, Buffer | undefined>();
  const asking: RecordingNode["ask"] = async (question) => {
    if (isLost) return undefined;
    const answer = await ask(question);
    isLost = answer === undefined;
    return answer;
  };
  const readFrom = async (at: number): Promise<void> => {
    const wanted: StoredBlock[] = [];
    let bytes = 0;
    for (const block of listed.slice(at)) {
      bytes += block.length;
      if (wanted.length > 0 && bytes > maxAnswerBytes) break;
      wanted.push(block);
    }
    const blocks = wanted.map(({ segment, offset, length }) => ({ segment, offset, length }));
    const answer = await asking({ want: "blocks", accountId, blocks });
    if (answer?.is !== "blocks") throw new Error(`read captured requests of node ${id}: it does not answer`);
    for (const [index, text] of answer.blocks.entries()) {
      const block = wanted[index];
      if (block !== undefined) ready.set(placeOf(block), text === null ? undefined : Buffer.from(text, "base64"));
    }
  };
  return {
    async list(range: BlockRange) {
      const blocks: StoredBlock[] = [];
      const gaps: CaptureGap[] = [];
      for (let after: string | undefined = ""; after !== undefined;) {
        const answer = await asking({ want: "list", ...range, after });
        if (answer?.is !== "list") {
          gaps.push({ reason: "unreached", since: undefined, until: undefined, records: undefined, nodeId: id });
          break;
        }
        blocks.push(...answer.blocks);
        gaps.push(...answer.gaps);
        after = answer.after;
      }
      // The reader wants them in this order.
      listed = blocks.sort((one, other) => one.minAt - other.minAt);
      for (const [at, block] of listed.entries()) positions.set(placeOf(block), at);
      return { blocks: listed, gaps };
    },
    async read(block) {
      const place = placeOf(block);
      if (!ready.has(place)) await readFrom(positions.get(place) ?? listed.length);
      if (!ready.has(place)) throw new Error(`read captured requests of node ${id}: its answer lacks a block`);
      const found = ready.get(place);
      ready.delete(place);
      return found;
    },
  };
}

function placeOf({ segment, offset }: StoredBlock): string {
  return `${segment} ${offset}`;
}
