import assert from "node:assert/strict";
import { it } from "node:test";
import { makeManualClock } from "../../../../test/support/clock.ts";
import type { CaptureBatch } from "../../../capture/capture-batch.ts";
import { recordsIn } from "../../../capture/format/record-reader.ts";
import { FieldTable } from "../../../http1/field-table.ts";
import { readFields } from "../../../http1/read-fields.ts";
import { HeadBuilder } from "../../../http2/head-builder.ts";
import { headerEntry } from "../../../http2/header-entry.ts";
import { makeMetrics } from "../../../lib/metrics.ts";
import { newRequestId } from "../../../lib/traffic-ids.ts";
import { denyStep, passStep } from "../../../traffic/step.ts";
import type { FinishedExchange } from "../../http/http-context.ts";
import { stripRequest } from "../../http/forwarded-fields.ts";
import { makeCapture } from "./capture.ts";
import { makeNotes } from "./notes.ts";

function tableOf(lines: string): FieldTable {
  const bytes = Buffer.from(`${lines}\r\n`, "latin1");
  const table = new FieldTable(bytes, 32);
  readFields(table, 0, bytes.length, 32);
  table.seal();
  return table;
}

/** Fields as a client with HTTP/2 sends them. */
function builtOf(fields: readonly (readonly [string, string])[]): FieldTable {
  const builder = new HeadBuilder();
  builder.start(4096, 32);
  for (const [name, value] of fields) builder.add(headerEntry(Buffer.from(`${name}: ${value}\r\n`), name.length));
  const table = builder.build("h");
  assert.ok(table, builder.fault);
  return table;
}

function exchangeWith(change: object = {}): FinishedExchange {
  const { headers = tableOf("Host: h\r\n"), target = "/a?b", ...rest } = change as Record<string, unknown>;
  const request = { scheme: "https", httpVersion: "1.1", websocket: false, hostField: "h", upgrade: "" };
  return {
    requestId: newRequestId(1.5),
    shared: {},
    accountId: "ac_1",
    receivedAt: 1.5,
    revision: 7,
    method: "GET",
    path: "/a",
    siteId: "edghts_1",
    routeId: "r",
    status: 200,
    durationMs: 1.5,
    bytesIn: 1,
    bytesOut: 2,
    cutShort: false,
    request: { ...request, headers, target },
    responded: undefined,
    connection: { source: "192.0.2.1", sourcePort: 1, local: {}, localPort: 443, startedAt: 1, tls: undefined },
    steps: [passStep("router", "matched")],
    ...rest,
  } as unknown as FinishedExchange;
}

function recordsOf(exchanges: readonly FinishedExchange[], settings: object = {}) {
  const batches: CaptureBatch[] = [];
  const capture = makeCapture({
    line: {
      waitingBytes: 0,
      send: (batch) => void batches.push(batch),
      ask: () => Promise.resolve(undefined),
      askBlocks: () => Promise.resolve(undefined),
    },
    table: { object: () => ({ doc: { capture: settings } }), subscribe() {} } as never,
    isDefault: false,
    place: () => ({ nodeId: "n", edge: 1 }),
    random: () => 0,
    clock: makeManualClock(),
    metrics: makeMetrics(),
  });
  for (const exchange of exchanges) capture.note(exchange);
  capture.flush();
  return batches.flatMap(({ bytes }) => Array.from(recordsIn(Buffer.from(bytes)), ({ record }) => record));
}

it("a record has the request's header fields as received, after the edge has removed and added fields", () => {
  const headers = tableOf(
    "Host: h\r\nX-Forwarded-For: 192.0.2.9\r\nX-B:1\r\nx_real_ip:\t 2 \r\nX-b: 3\r\nX-Empty:\r\n",
  );
  const received = headers.received();
  stripRequest(headers, false);
  headers.set("x-b", "changed");
  headers.append("x-added", "1");
  const steps = [passStep("router", "matched"), denyStep("ip_restriction", "source_denied", "denied")];
  const [record] = recordsOf([exchangeWith({ headers, steps, status: 403 })]);
  assert.deepEqual(record?.request.headers, [
    ["host", "h"],
    ["x-forwarded-for", "192.0.2.9"],
    ["x-b", "1"],
    ["x_real_ip", "2"],
    ["x-b", "3"],
    ["x-empty", ""],
  ]);
  assert.deepEqual(record?.request.headers, received);
  assert.deepEqual([record?.decision.outcome, record?.receivedAt, record?.revision], ["denied", 1500, 7]);
});

it("a record of HTTP/2 has one Host field and one Cookie field", () => {
  const headers = builtOf([
    ["cookie", "a=1"],
    ["host", "h"],
    ["x-other", "1"],
    ["cookie", "b=2"],
  ]);
  const [record] = recordsOf([exchangeWith({ headers })]);
  assert.deepEqual(record?.request.headers, [
    ["host", "h"],
    ["x-other", "1"],
    ["cookie", "a=1; b=2"],
  ]);
});

it("a record differs from the previous one of its connection exactly in what differed", () => {
  const shared = {};
  const fields = (value: string) => ({ status: 200, fields: tableOf(`X-R: ${value}\r\n`) });
  const connection = { source: "192.0.2.1", sourcePort: 1, local: {}, localPort: 443, startedAt: 1, tls: undefined };
  const same = { shared, connection };
  const long = "x".repeat(300);
  const changes = [
    { headers: tableOf("X-A: 1\r\n"), responded: fields("1"), waitedMs: 1 },
    { headers: tableOf("X-A: 1\r\n"), responded: fields("1"), waitedMs: 2 },
    { headers: tableOf("X-A: 2\r\n"), responded: fields("1"), waitedMs: 2 },
    { headers: tableOf("X-A: 2\r\n"), status: 404, steps: [passStep("router", "matched"), passStep("b", "c")] },
    { headers: tableOf("X-A: 2\r\n"), responded: fields("1"), waitedMs: 2 },
    { headers: tableOf(`X-A: ${long}1\r\n`), target: "/b", path: "/b" },
    { headers: tableOf(`X-A: ${long}2\r\n`), target: "/b", path: "/b" },
    { headers: tableOf(`X-A: ${long}2\r\n`), target: "/b", path: "/B", cutShort: true, capturedBody: Buffer.from("b") },
    { headers: tableOf(`X-A: ${long}2\r\n`), accountId: "ac_2" },
    { headers: tableOf(`X-A: ${long}2\r\n`), connection: { ...connection, source: "192.0.2.2" } },
    { headers: tableOf("X-A: 1\r\n"), connection },
    { headers: builtOf([["x-a", "1"]]) },
    { headers: tableOf("host: h\r\nx-a: 1\r\n") },
  ].map((change) => ({ ...same, ...change }));
  const together = recordsOf(changes.map((change) => exchangeWith(change)));
  const alone = changes.flatMap((change) => recordsOf([exchangeWith({ ...change, shared: {} })]));
  const withoutId = (records: typeof alone) => records.map((record) => ({ ...record, id: "" }));
  assert.deepEqual(withoutId(together), withoutId(alone));
  assert.equal(together.length, changes.length);
});

it("the decisions that captured requests share are bounded in size, whatever clients send", () => {
  const note = makeNotes();
  const decisionOf = (upgrade: string): unknown => {
    const exchange = exchangeWith();
    const request = { ...exchange.request, upgrade };
    return note({ ...exchange, request } as never, { note: "rule" } as never, { nodeId: "n", edge: 1 }).decision;
  };
  const first = decisionOf("");
  assert.equal(decisionOf(""), first);
  for (let count = 0; count < 300; count += 1) decisionOf(`${count}${"x".repeat(16_384)}`);
  assert.notEqual(decisionOf(""), first);
});
