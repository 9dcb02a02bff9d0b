/** Records of the requests that edges of this thread have served, as capture keeps them, and backtests of them. */
import { createHmac } from "node:crypto";
import { Backtest } from "../../src/backtest/backtest.ts";
import type { BacktestReport } from "../../src/routing/planes/backtests.ts";
import type { BacktestSettings } from "../../src/backtest/backtest-settings.ts";
import type { CapturedRequest } from "../../src/capture/captured-request.ts";
import { RecordCopier, readBatch } from "../../src/capture/format/record-copier.ts";
import { recordsIn } from "../../src/capture/format/record-reader.ts";
import { redactionOf } from "../../src/capture/store/redact.ts";
import { ruleOf } from "../../src/capture/rule.ts";
import { makeCapture } from "../../src/edge/watch/capture/capture.ts";
import { makeMetrics } from "../../src/lib/metrics.ts";
import { makeManualClock } from "./clock.ts";
import { HttpExchange } from "../../src/edge/http/http-exchange.ts";
import type { AgentEndpoint } from "../../src/routing/planes/edge-questions.ts";
import type { ResourceObject } from "../../src/schema/object.ts";
import type { RoutingChange } from "../../src/routing/planes/messages.ts";
import { edgeSettings } from "../../src/settings/edge.ts";
import { defaultsOf } from "../../src/settings/setting.ts";

/** Records every request until `stop`, as the edge and the capture thread do. */
export function recordTraffic(): { readonly records: readonly CapturedRequest[]; stop(): void } {
  const records: CapturedRequest[] = [];
  const copier = new RecordCopier();
  const redaction = redactionOf(ruleOf({}), (value) =>
    createHmac("sha256", "key").update(value).digest("hex").slice(0, 16),
  );
  const capture = makeCapture({
    line: {
      waitingBytes: 0,
      send({ bytes }) {
        readBatch(
          Buffer.from(bytes),
          () => redaction,
          (record) => copier.add(record),
        );
        for (const { record } of recordsIn(copier.take())) records.push(record);
      },
      ask: () => Promise.resolve(undefined),
      askBlocks: () => Promise.resolve(undefined),
    },
    table: { object: () => undefined, subscribe() {} },
    isDefault: true,
    place: () => ({ nodeId: "node_1", edge: 0 }),
    random: () => 0,
    clock: makeManualClock(),
    metrics: makeMetrics(),
  });
  const { conclude } = HttpExchange.prototype;
  HttpExchange.prototype.conclude = function (this: HttpExchange): void {
    const { isOver } = this;
    conclude.call(this);
    if (!isOver) capture.note(this);
  };
  return {
    get records() {
      capture.flush();
      return records;
    },
    stop: () => void (HttpExchange.prototype.conclude = conclude),
  };
}

export const backtestSettings: BacktestSettings = {
  ...defaultsOf(edgeSettings),
  httpsPort: 443,
  takesDefaultPorts: true,
  allowLocalUpstreams: true,
  idpHost: "idp.apps.example.com",
};

/** Tries the records with the objects and the changes. `null` deletes an object. */
export async function backtestOf(
  records: readonly CapturedRequest[],
  objects: readonly ResourceObject[],
  changed: readonly (Pick<ResourceObject, "kind" | "id"> & { readonly doc: ResourceObject["doc"] | null })[] = [],
  endpoints: readonly AgentEndpoint[] = [],
): Promise<BacktestReport> {
  const revision = Math.max(0, ...objects.map((one) => one.revision));
  const changes = changed.map(({ kind, id, doc }): RoutingChange => {
    const object = doc && { kind, id, account_id: "ac_1", revision: revision + 1, doc };
    return { kind, id, account_id: "ac_1", object };
  });
  const settings = backtestSettings;
  const backtest = new Backtest({ accountId: "ac_1", revision, objects, changes, settings, endpoints });
  for (const record of records.toSorted((one, other) => one.receivedAt - other.receivedAt)) await backtest.try(record);
  return backtest.report;
}

/** Returns the record of a plain request, which an upstream answered with 200. */
export function recordOf(given: {
  readonly at: number;
  readonly accountId: string;
  readonly siteId: string;
  readonly routeId: string;
  readonly receivedAt: number;
}): CapturedRequest {
  const { at, ...ids } = given;
  return {
    ...ids,
    id: `req_${String(at).padStart(27, "0")}`,
    nodeId: "nd_1",
    edge: 1,
    revision: 1_000,
    request: {
      method: "GET",
      scheme: "https",
      httpVersion: at % 2 === 0 ? "2" : "1.1",
      authority: "app.example.com",
      target: `/p${at % 4}?n=${at}`,
      path: `/p${at % 4}`,
      headers: [["host", "app.example.com"]],
      redacted: [],
      body: undefined,
      websocket: false,
      upgrade: "",
    },
    connection: {
      source: `192.0.2.${at % 200}`,
      sourcePort: 1024,
      localAddress: "127.0.0.1",
      localPort: 443,
      startedAt: ids.receivedAt / 1000,
      tls: {
        version: "TLSv1.3",
        cipher: "TLS_AES_256_GCM_SHA384",
        serverName: "app.example.com",
        alpn: "",
        offeredAlpn: [],
        ja4: "",
        clientCertificate: undefined,
      },
    },
    visitor: undefined,
    decision: {
      steps: [],
      outcome: "forwarded",
      status: 200,
      errorCode: undefined,
      backendId: undefined,
      tunnel: undefined,
    },
    upstream: { status: 200, headers: [["content-type", "text/plain"]], waitedMs: 1 },
    durationMs: 2,
    bytesIn: 0,
    bytesOut: 2,
    cutShort: false,
  };
}
