import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { makeManualClock } from "../../../test/support/clock.ts";
import { makeMetrics } from "../../lib/metrics.ts";
import type { Upward } from "../../routing/planes/messages.ts";
import { makeTrafficReports } from "./traffic-reports.ts";
import type { TrafficReportLimits } from "./traffic-reports.ts";
import type { ClosedConnection } from "../connections/closed-connection.ts";

type Batch = Extract<Upward, { type: "traffic" }>;

const limits = { perAccount: 30, total: 50, batch: 10, underWay: 2, lingerMs: 200 };

function start(given: Partial<TrafficReportLimits> = {}) {
  const clock = makeManualClock();
  const metrics = makeMetrics();
  const sent: Batch[] = [];
  const send = (message: Upward): void => void sent.push(message as Batch);
  return {
    clock,
    metrics,
    sent,
    reports: makeTrafficReports({ send, clock, metrics, limits: { ...limits, ...given } }),
  };
}

function connection(accountId: string): ClosedConnection {
  const site = { kind: "tcp_edge", id: "edgtcp_1", accountId } as ClosedConnection["site"];
  return { id: "con_1", site, source: "192.0.2.1", steps: [], outcome: "denied", bytesIn: 0, bytesOut: 0 };
}

function wanted(...accountIds: readonly string[]) {
  return accountIds.map((accountId) => ({ accountId, types: ["tcp_connection_closed.v0"] as const }));
}

function repeat(count: number, run: () => void): void {
  for (let done = 0; done < count; done += 1) run();
}

describe("reports of traffic", () => {
  it("reports of traffic are only made for accounts that subscribe to the type, and as long as they do", () => {
    const { clock, sent, reports } = start();
    reports.connection(connection("ac_1"));
    reports.want([{ accountId: "ac_1", types: ["http_request_complete.v0"] }, ...wanted("ac_2")]);
    reports.connection(connection("ac_1"));
    reports.connection(connection("ac_2"));
    reports.want([]);
    reports.connection(connection("ac_2"));
    clock.pass(1000);
    assert.deepEqual(
      sent.flatMap((batch) => batch.reports.map(({ accountId }) => accountId)),
      ["ac_2"],
    );
    assert.equal(clock.pending, 0);
  });

  it("reports of traffic wait briefly for others, and are sent immediately when there are enough", () => {
    const { clock, sent, reports } = start();
    reports.want(wanted("ac_1"));
    reports.connection(connection("ac_1"));
    clock.pass(199);
    assert.equal(sent.length, 0);
    clock.pass(1);
    assert.deepEqual([sent[0]?.batch, sent[0]?.reports.length], [1, 1]);
    repeat(10, () => reports.connection(connection("ac_1")));
    assert.deepEqual([sent[1]?.batch, sent[1]?.reports.length], [2, 10]);
  });

  it("D10: reports of traffic wait while the control plane is behind, then are dropped and counted by account", () => {
    const { metrics, sent, reports } = start();
    reports.want(wanted("ac_1", "ac_2"));
    repeat(20 + 30 + 7, () => reports.connection(connection("ac_1")));
    repeat(20 + 5, () => reports.connection(connection("ac_2")));
    assert.equal(sent.length, 2);
    assert.match(metrics.render(), /^postern_traffic_events_dropped_total 12$/m);
    reports.taken(1);
    assert.equal(sent.length, 3);
    assert.deepEqual(sent[2]?.dropped, [
      ["ac_1", 7],
      ["ac_2", 5],
    ]);
    for (let batch = 2; batch <= 7; batch += 1) reports.taken(batch);
    assert.equal(sent.flatMap((one) => one.reports).length, 20 + 30 + 20);
    assert.deepEqual(sent.at(-1)?.dropped, []);
    repeat(30, () => reports.connection(connection("ac_1")));
    assert.match(metrics.render(), /^postern_traffic_events_dropped_total 12$/m);
  });

  it("reports of traffic continue with a restarted control plane, which gets none of the earlier batches", () => {
    const { sent, reports } = start();
    reports.want(wanted("ac_1"));
    repeat(30, () => reports.connection(connection("ac_1")));
    assert.equal(sent.length, 2);
    reports.want(wanted("ac_1"));
    assert.equal(sent.length, 3);
  });

  it("reports of traffic are all sent when the edge stops", () => {
    const { clock, sent, reports } = start();
    reports.want(wanted("ac_1"));
    repeat(45, () => reports.connection(connection("ac_1")));
    reports.close();
    assert.equal(sent.flatMap((one) => one.reports).length, 45);
    assert.equal(clock.pending, 0);
  });
});
