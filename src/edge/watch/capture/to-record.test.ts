import assert from "node:assert/strict";
import { it } from "node:test";
import { recordsIn } from "../../../capture/format/record-reader.ts";
import { RecordWriter } from "../../../capture/format/record-writer.ts";
import { FieldTable } from "../../../http1/field-table.ts";
import { readFields } from "../../../http1/read-fields.ts";
import { denied, passed } from "../../../traffic/step.ts";
import type { FinishedExchange } from "../../http/context.ts";
import { stripRequest } from "../../http/forwarding.ts";
import { noteOf, toRecord } from "./to-record.ts";

function tableOf(lines: string): FieldTable {
  const bytes = Buffer.from(`${lines}\r\n`, "latin1");
  const table = new FieldTable(bytes, 32);
  readFields(table, 0, bytes.length, 32);
  table.seal();
  return table;
}

it("a record has the request's header fields as received, after the edge has removed and added fields", () => {
  const headers = tableOf("Host: h\r\nX-Forwarded-For: 192.0.2.9\r\nX-B: 1\r\nx_real_ip: 2\r\nX-b: 3\r\n");
  stripRequest(headers, false);
  headers.set("x-b", "changed");
  headers.append("x-added", "1");
  const request = {
    scheme: "https",
    httpVersion: "1.1",
    websocket: false,
    target: "/a?b",
    hostField: "h",
    upgrade: "",
  };
  const exchange = {
    id: "req_1",
    receivedAt: 1.5,
    revision: 7,
    method: "GET",
    path: "/a",
    siteId: "edghts_1",
    routeId: "r",
    status: 403,
    durationMs: 1.5,
    bytesIn: 1,
    bytesOut: 2,
    cutShort: false,
    request: { ...request, headers },
    responded: undefined,
    connection: { source: "192.0.2.1", sourcePort: 1, local: {}, localPort: 443, startedAt: 1, tls: undefined },
    steps: [passed("router", "matched"), denied("ip_restriction", "source_denied", "denied")],
  } as unknown as FinishedExchange;
  const record = toRecord(exchange, "ac_1", { nodeId: "n", edge: 1 });
  assert.deepEqual(record.request.headers, [
    ["host", "h"],
    ["x-forwarded-for", "192.0.2.9"],
    ["x-b", "1"],
    ["x_real_ip", "2"],
    ["x-b", "3"],
  ]);
  const writer = new RecordWriter();
  writer.add(noteOf(exchange, "ac_1", { nodeId: "n", edge: 1 }));
  assert.deepEqual(
    Array.from(recordsIn(writer.take()), (one) => one.record),
    [record],
  );
  assert.deepEqual([record.decision.outcome, record.receivedAt, record.revision], ["denied", 1500, 7]);
});
