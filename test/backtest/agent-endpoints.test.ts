/** Backtests of requests to the endpoints that agents publish: the agent's options are those of its tunnel. */
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import type { CapturedRequest } from "../../src/capture/captured-request.ts";
import { startTestEdge } from "../support/edge.ts";
import type { TestEdge } from "../support/edge.ts";
import { eventually } from "../support/eventually.ts";
import { startHttpService } from "../support/services.ts";
import type { HttpService } from "../support/services.ts";
import { protocols } from "../support/http-client.ts";
import { ipPolicy, newCredential } from "../support/objects.ts";
import { startOurAgent } from "../support/our-agent.ts";
import type { OurAgent } from "../support/our-agent.ts";
import { backtestOf, recordTraffic } from "../support/recorded-traffic.ts";

const host = "own.apps.example.com";
const policy = `on_http_request:
  - expressions: ["req.url.path == '/no'"]
    actions: [{ type: deny, config: { status_code: 404 } }]
  - actions: [{ type: restrict-ips, config: { enforce: true, ip_policies: [ipp_1] } }]
`;
const options = {
  BasicAuth: { credentials: [{ username: "ada", cleartext_password: "password-of-ada" }] },
  RequestHeaders: { add: ["x-added: 1"], remove: [] },
};
const password = { authorization: "Basic YWRhOnBhc3N3b3JkLW9mLWFkYQ==" };
/** 2 of them are allowed over each version of HTTP. */
const requests = [
  { path: "/a", headers: password },
  { path: "/b", headers: password },
  { path: "/no", headers: password },
  { path: "/a", headers: { authorization: "Basic YWRhOndyb25n" } },
  { path: "/a", headers: {} },
];
const denied = { ip_policy_id: "ipp_1", cidr: "127.0.0.0/8", action: "deny" };
const restriction = { type: "endpoints", enforced: true, ip_policy_ids: ["ipp_2"] };

describe("backtests of agents' endpoints", () => {
  let edge: TestEdge;
  let service: HttpService;
  let agent: OurAgent;
  let traffic: ReturnType<typeof recordTraffic>;
  const credential = newCredential();
  const start = (): Promise<OurAgent> => {
    const at = { port: edge.edge.agent.port, ca: edge.authority.certificatePem, token: credential.token };
    const tunnel = { options, trafficPolicy: policy };
    return startOurAgent(at, { upstream: service.port, url: `https://${host}`, tunnel });
  };

  before(async () => {
    edge = await startTestEdge([credential.object]);
    for (const one of ipPolicy("ipp_1", { "127.0.0.0/8": "allow" })) edge.put(one);
    for (const one of ipPolicy("ipp_2", { "10.0.0.0/8": "allow" })) edge.put(one);
    service = await startHttpService((request, response) => request.resume().once("end", () => response.end("served")));
    agent = await start();
    traffic = recordTraffic();
  });
  after(async () => {
    traffic.stop();
    await agent.close();
    await edge.edge.stop();
    await service.stop();
  });

  const visitAll = async (): Promise<readonly CapturedRequest[]> => {
    const from = traffic.records.length;
    for (const protocol of protocols) for (const one of requests) await edge.ask(protocol, { host, ...one });
    return traffic.records.slice(from);
  };
  const endpoints = async () => {
    const answer = await edge.question({ name: "agent_endpoints", accountId: "ac_1" });
    assert.ok(answer.name === "agent_endpoints");
    return answer.endpoints;
  };
  const backtest = async (records: readonly CapturedRequest[], changes: Parameters<typeof backtestOf>[2] = []) =>
    await backtestOf(records, edge.objects, changes, await endpoints());
  const statuses = (records: readonly CapturedRequest[]): number[] => records.map(({ decision }) => decision.status);
  let records: readonly CapturedRequest[];
  beforeEach(async () => {
    records = await visitAll();
    assert.deepEqual(statuses(records), [200, 200, 404, 401, 401, 200, 200, 404, 401, 401]);
  });

  it("a backtest decides requests to an agent's endpoint with the options of the agent", async () => {
    const { tried, same, skipped, unknown, differentlyRecorded } = await backtest(records);
    const counts = { tried, same, skipped, unknown, differentlyRecorded };
    assert.deepEqual(counts, { tried: 10, same: 10, skipped: 0, unknown: 0, differentlyRecorded: 0 });
  });

  it("a backtest counts what a changed IP policy does at an agent's endpoint that names it, and it comes true", async () => {
    const changed = { kind: "ip_policy_rule", id: "ipr_ipp_1_0", doc: denied };
    const report = await backtest(records, [changed]);
    assert.deepEqual([report.differences.allowed_to_denied, report.same, report.unknown], [4, 6, 0]);
    assert.deepEqual(report.causes[0]?.object, { kind: "ip_policy_rule", id: "ipr_ipp_1_0" });
    edge.put(changed);
    const again = await visitAll();
    edge.put({ ...changed, doc: { ...denied, action: "allow" } });
    assert.deepEqual(statuses(again), [403, 403, 404, 401, 401, 403, 403, 404, 401, 401]);
  });

  it("a backtest counts what a restriction of the account's endpoints does, and it comes true", async () => {
    const changed = { kind: "ip_restriction", id: "ipx_1", doc: restriction };
    const report = await backtest(records, [changed]);
    assert.deepEqual([report.differences.allowed_to_denied, report.unknown], [4, 0]);
    // Requests that were denied with another status or code get another refusal.
    assert.equal(report.differences.other_status, 6);
    assert.equal(report.causes[0]?.module, "ip_restriction");
    edge.put(changed);
    const again = await visitAll();
    edge.remove(changed.kind, changed.id);
    assert.deepEqual(new Set(statuses(again)), new Set([403]));
  });

  it("a backtest counts the requests to an agent's endpoint whose policy names a deleted object", async () => {
    const report = await backtest(records, [{ kind: "ip_policy", id: "ipp_1", doc: null }]);
    assert.deepEqual([report.differences.allowed_to_denied, report.unknown], [4, 0]);
  });

  it("a backtest decides requests to the endpoint of an agent that was restarted", async () => {
    await agent.close();
    agent = await start();
    await eventually(endpoints, (found) => found.length === 1);
    const { tried, same, unknown, differentlyRecorded } = await backtest(records);
    assert.deepEqual([tried, same, unknown, differentlyRecorded], [10, 10, 0, 0]);
  });

  it("a backtest does not know about requests to the endpoint of an agent that is not connected", async () => {
    const { tried, unknownReasons } = await backtestOf(records, edge.objects, [], []);
    const reason = "no agent or cloud endpoint publishes its host at the moment";
    assert.deepEqual({ tried, unknownReasons }, { tried: 10, unknownReasons: [{ reason, requests: 10 }] });
  });
});
