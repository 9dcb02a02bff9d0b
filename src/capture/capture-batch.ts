/** What passes between a traffic thread and the capture thread: plain data. */
import type { BlockAnswer, BlockQuestion } from "../routing/planes/captured-blocks.ts";
import type { Missing } from "../routing/planes/missing-records.ts";
import type { RequestTrace, WholeRecords } from "../routing/planes/edge-questions.ts";
import type { CaptureQuery } from "./query.ts";

/** Records that a traffic thread hands over together. */
export interface CaptureBatch {
  /** Written by `RecordWriter`, with the note of each record's rule. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Records of each account that were dropped before, because the capture thread was behind. */
  readonly dropped: readonly (readonly [accountId: string, count: number])[];
}

/** A page of captured requests, newest first. */
export interface CapturePageQuery extends CaptureQuery {
  readonly limit: number;
  /** Only requests whose id sorts before this one. */
  readonly beforeId?: string | undefined;
  readonly whole?: WholeRecords | undefined;
  /** The API key that asks. Each has a share of the account's searches. */
  readonly keyId?: string | undefined;
}

export interface CapturePage {
  readonly found: readonly RequestTrace[];
  readonly more: boolean;
  /** Set if captured requests may be missing. */
  readonly missing?: Missing | undefined;
}

/** The traffic thread's line to the capture thread. */
export interface CaptureLine {
  /** Bytes that the capture thread has not taken yet. */
  readonly waitingBytes: number;
  send(batch: CaptureBatch): void;
  /** Resolves with undefined if nothing was ever captured here. */
  ask(query: CapturePageQuery): Promise<CapturePage | undefined>;
  /** Resolves with undefined if the capture thread fails, and with nothing if nothing was ever captured here. */
  askBlocks(question: BlockQuestion): Promise<BlockAnswer | undefined>;
}
