/** A traffic thread's end of its line to the capture thread, which the main thread starts when it is first needed. */
import type { MessagePort } from "node:worker_threads";
import type { CaptureLine, CapturePage } from "../../../capture/capture-batch.ts";
import type { BlockAnswer, BlockQuestion } from "../../../routing/planes/captured-blocks.ts";
import { systemClock } from "../../../lib/clock.ts";
import { askMs } from "./capture-messages.ts";
import type { FromCapture, ToCapture } from "./capture-messages.ts";

export interface CapturePortLine extends CaptureLine {
  /** The capture thread runs, or runs again. Whatever the earlier one had not taken is lost. */
  attach(port: MessagePort): void;
}

/** @param wanted called once, when there is something to write */
export function capturePortLine(wanted: () => void): CapturePortLine {
  let port: MessagePort | undefined;
  let isWanted = false;
  let waitingBytes = 0;
  let waiting: ToCapture[] = [];
  let lastCall = 0;
  const calls = new Map<number, (answer: CapturePage | BlockAnswer | undefined) => void>();
  const post = (to: MessagePort, message: ToCapture): void => {
    to.postMessage(message, message.type === "batch" ? [message.batch.bytes.buffer] : []);
  };
  const ask = <Answer extends CapturePage | BlockAnswer>(
    message: (call: number) => ToCapture,
    failed?: Answer,
  ): Promise<Answer | undefined> => {
    const to = port;
    if (to === undefined) return Promise.resolve(undefined);
    const call = (lastCall += 1);
    return new Promise((resolve) => {
      const done = (answer: CapturePage | BlockAnswer | undefined): void => {
        timer.cancel();
        calls.delete(call);
        resolve((answer as Answer | undefined) ?? failed);
      };
      const timer = systemClock.after(askMs, () => done(undefined));
      calls.set(call, done);
      post(to, message(call));
    });
  };
  return {
    get waitingBytes() {
      return waitingBytes;
    },
    send(batch) {
      waitingBytes += batch.bytes.length;
      if (port !== undefined) post(port, { type: "batch", batch });
      else waiting.push({ type: "batch", batch });
      if (!isWanted) wanted();
      isWanted = true;
    },
    ask: (query) => ask<CapturePage>((call) => ({ type: "ask", call, query }), unanswered),
    askBlocks(question) {
      if (port === undefined) return Promise.resolve(answerNothing(question));
      return ask<BlockAnswer>((call) => ({ type: "ask_blocks", call, question }));
    },
    attach(next) {
      port?.close();
      port = next;
      waitingBytes = 0;
      for (const done of Array.from(calls.values())) done(undefined);
      next.on("message", (message: FromCapture) => {
        if (message.type === "taken") waitingBytes -= message.length;
        else calls.get(message.call)?.(message.answer);
      });
      // A port that waits for messages must not keep the thread alive.
      next.unref();
      for (const message of waiting) {
        if (message.type === "batch") waitingBytes += message.batch.bytes.length;
        post(next, message);
      }
      waiting = [];
    },
  };
}

/** The capture thread ended or took too long. */
const unanswered: CapturePage = { found: [], more: false, missing: { reason: "failed" } };

function answerNothing(question: BlockQuestion): BlockAnswer {
  if (question.want === "list") return { is: "list", blocks: [], gaps: [], after: undefined };
  return { is: "blocks", blocks: question.blocks.map(() => null) };
}
