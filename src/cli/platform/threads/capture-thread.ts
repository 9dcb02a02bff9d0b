/** The capture thread: writes the captured requests of all edges of this server, and reads them for questions. */
import { receiveMessageOnPort, workerData } from "node:worker_threads";
import type { MessagePort } from "node:worker_threads";
import type { CapturePage, CapturePageQuery } from "../../../capture/capture-batch.ts";
import { CaptureStore } from "../../../capture/store/capture-store.ts";
import { answerBlocks } from "../../../capture/store/disk-blocks.ts";
import { readPage } from "../../../capture/store/record-page.ts";
import type { CapturePlaces } from "../../../capture/store/read-records.ts";
import { Searches, SearchesBusy } from "../../../capture/store/searches.ts";
import { traceOf } from "../../../capture/trace.ts";
import { renderWhole } from "../../../capture/whole.ts";
import { runContained } from "../../../lib/boundary.ts";
import { systemClock } from "../../../lib/clock.ts";
import type { BlockAnswer } from "../../../routing/planes/captured-blocks.ts";
import { searchMs } from "./capture-messages.ts";
import type { FromCapture, ToCapture } from "./capture-messages.ts";
import { runThread } from "./run-thread.ts";
import type { ThreadData } from "./thread-messages.ts";

export interface CaptureThreadOptions extends CapturePlaces {
  readonly maxBytes: number;
}

const { options } = workerData as ThreadData<CaptureThreadOptions>;
const ports = new Set<MessagePort>();
const searches = new Searches(systemClock, searchMs);

await runThread<undefined, never, never>([], "continues", (log) => {
  const store = new CaptureStore({ ...options, clock: systemClock, log });
  return Promise.resolve({
    ports: undefined,
    captureLine(port) {
      ports.add(port);
      port.on("message", (message: ToCapture) => runContained("message", () => takeMessage(store, port, message)));
      port.once("close", () => ports.delete(port));
    },
    stop() {
      for (const port of ports) {
        for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port)) {
          takeMessage(store, port, next.message as ToCapture);
        }
      }
      store.close();
      return Promise.resolve();
    },
  });
});

function takeMessage(store: CaptureStore, port: MessagePort, message: ToCapture): void {
  if (message.type !== "batch") {
    const { call } = message;
    const isContinued =
      message.type === "ask_blocks" && (message.question.want === "blocks" || message.question.after !== "");
    if (!isContinued) store.flush();
    const answer = (found: CapturePage | BlockAnswer | undefined): void =>
      port.postMessage({ type: "answer", call, answer: found } satisfies FromCapture);
    const finding =
      message.type === "ask"
        ? searches.run(message.query.accountId, message.query.keyId ?? "", (isOver) => pageOf(message.query, isOver))
        : answerBlocks(options.directory, message.question);
    finding.then(answer, (error: unknown) => {
      const isBusy = error instanceof SearchesBusy;
      const reason = isBusy ? ("busy" as const) : ("failed" as const);
      answer(message.type === "ask" ? { found: [], more: false, missing: { reason } } : undefined);
      if (isBusy) return;
      runContained("task", () => {
        throw error;
      });
    });
    return;
  }
  const { bytes, dropped } = message.batch;
  const { length } = bytes;
  for (const [accountId, count] of dropped) store.dropped(accountId, count);
  try {
    store.take(Buffer.from(bytes.buffer));
  } finally {
    port.postMessage({ type: "taken", length } satisfies FromCapture);
  }
}

async function pageOf(query: CapturePageQuery, isOver: () => boolean): Promise<CapturePage> {
  const { whole } = query;
  const { records, more, searchedTo } = await readPage(options, query, isOver);
  const missing = searchedTo === undefined ? undefined : ({ reason: "time", searchedTo } as const);
  if (whole === undefined) return { found: records.map(traceOf), more, missing };
  const withContent = whole === "with content";
  return { found: records.map((one) => ({ ...traceOf(one), whole: renderWhole(one, withContent) })), more, missing };
}
