/** Records that a capture store has written, without an edge that served their requests. */
import { TextPart } from "../../src/capture/format/byte-writer.ts";
import { connectionText, decisionText, stepText } from "../../src/capture/format/facts.ts";
import { linesOf } from "../../src/capture/format/head-lines.ts";
import { ConnectionPart, RecordWriter } from "../../src/capture/format/record-writer.ts";
import type { CapturedRequest } from "../../src/capture/captured-request.ts";
import { noteOf } from "../../src/capture/rule.ts";
import type { WritingRule } from "../../src/capture/rule.ts";
import type { CaptureStore } from "../../src/capture/store/capture-store.ts";

/** Passes one record to the store, as a batch of an edge. */
export function storeRecord(store: Pick<CaptureStore, "take">, record: CapturedRequest, rule: WritingRule): void {
  const { id, nodeId, edge, accountId, siteId, routeId, revision, request, decision, upstream, visitor } = record;
  const { method, scheme, httpVersion, authority, websocket, upgrade, target } = request;
  const { steps, ...decided } = decision;
  const facts = { note: noteOf(rule), nodeId, edge, accountId, siteId, routeId, revision, visitor, decision: decided };
  const asked = { method, scheme, httpVersion, authority, websocket, upgrade };
  const text = decisionText(
    { ...facts, request: asked, upstreamStatus: upstream?.status ?? 0 },
    steps.map((step) => stepText(step)),
  );
  const writer = new RecordWriter();
  writer.add(new ConnectionPart(connectionText(record.connection)), new TextPart(text), {
    requestId: { write: (bytes, at) => at + bytes.latin1Write(id, at) },
    receivedAt: record.receivedAt / 1000,
    durationMs: record.durationMs,
    waitedMs: upstream?.waitedMs,
    bytesIn: record.bytesIn,
    bytesOut: record.bytesOut,
    cutShort: record.cutShort,
    path: request.path,
    request: { target, headers: linesOf(request.headers) },
    responded: upstream && { fields: linesOf(upstream.headers) },
    capturedBody: request.body,
  });
  store.take(writer.take());
}
