/**
 * How a node reads the captured requests of another node: the other node lists its blocks, and sends wanted ones as they
 * are on its disk, compressed and sealed. Plain JSON.
 */

/** A block of a segment. Times are in microseconds since 1970. */
export interface StoredBlock {
  /** File name of the segment. */
  readonly segment: string;
  readonly offset: number;
  readonly length: number;
  /** Bytes of its records before compression. */
  readonly rawLength: number;
  readonly count: number;
  readonly minAt: number;
  readonly maxAt: number;
  /** Records that were dropped since the previous block of the segment. */
  readonly dropped: number;
}

/** A place without the records that belong there. */
export interface CaptureGap {
  /** `unreached`: the node that has the records does not answer. */
  readonly reason: "damaged" | "dropped" | "unreadable" | "unreached";
  /** Arrival of the earliest and latest request around it, microseconds since 1970; undefined if unknown. */
  readonly since: number | undefined;
  readonly until: number | undefined;
  /** Number of missing records; undefined if unknown. */
  readonly records: number | undefined;
  /** The other node that has the records. */
  readonly nodeId?: string | undefined;
}

/** Blocks that may have records of requests that arrived within the range, in milliseconds since 1970. */
export interface BlockRange {
  readonly accountId: string;
  readonly since?: number | undefined;
  readonly until?: number | undefined;
}

export interface BlockList {
  readonly blocks: readonly StoredBlock[];
  readonly gaps: readonly CaptureGap[];
}

export type BlockQuestion =
  /** @param after only segments whose file names sort after this one */
  | (BlockRange & { readonly want: "list"; readonly after: string })
  | {
      readonly want: "blocks";
      readonly accountId: string;
      readonly blocks: readonly Pick<StoredBlock, "segment" | "offset" | "length">[];
    };

export type BlockAnswer =
  /** `after` continues the list. Undefined at its end. */
  | (BlockList & { readonly is: "list"; readonly after: string | undefined })
  /** In the order of the question, base64. Null for blocks that were deleted, and for those beyond the size of an answer. */
  | { readonly is: "blocks"; readonly blocks: readonly (string | null)[] };

/** Another node, as a reader of its captured requests needs it. */
export interface RecordingNode {
  readonly id: string;
  /** Resolves with undefined if the node does not answer. */
  ask(question: BlockQuestion): Promise<BlockAnswer | undefined>;
}
