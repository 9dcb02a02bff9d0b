/** Messages between a traffic thread and the capture thread. */
import type { CaptureBatch, CapturePage, CapturePageQuery } from "../../../capture/capture-batch.ts";
import type { BlockAnswer, BlockQuestion } from "../../../routing/planes/captured-blocks.ts";

/** Maximum time for an answer, milliseconds. */
export const askMs = 8_000;
/** Maximum time for a search, so that there is time left to answer with what was found. */
export const searchMs = 6_000;

export type ToCapture =
  | { readonly type: "batch"; readonly batch: CaptureBatch }
  | { readonly type: "ask"; readonly call: number; readonly query: CapturePageQuery }
  | { readonly type: "ask_blocks"; readonly call: number; readonly question: BlockQuestion };

export type FromCapture =
  /** A batch of this length was taken. */
  | { readonly type: "taken"; readonly length: number }
  /** Undefined if the thread could not read what it has. */
  | { readonly type: "answer"; readonly call: number; readonly answer: CapturePage | BlockAnswer | undefined };
