/** The history of traffic: exact counts after real requests, over restarts, by service and by reason. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { errorCode } from "../../src/lib/errors.ts";
import { portIs, visit } from "../support/connections.ts";
import { eventually } from "../support/eventually.ts";
import { startPlatform } from "../support/platform.ts";
import type { ApiBody, TestPlatform } from "../support/platform.ts";
import { startHttpService } from "../support/services.ts";
import type { HttpService } from "../support/services.ts";

let platform: TestPlatform;
let upstream: HttpService;
let otherKey: string;
let shop: ApiBody;
let blog: ApiBody;
let backend: ApiBody;

async function made(method: string, path: string, body?: unknown): Promise<ApiBody> {
  const answer = await platform.api(method, path, body);
  assert.ok(answer.status < 300, answer.text);
  return answer.body;
}

async function publish(host: string): Promise<ApiBody> {
  const edge = await made("POST", "/edges/https", { hostports: [`${host}:${platform.publicHttpsPort}`] });
  await made("POST", `/edges/https/${edge.id}/routes`, {
    match_type: "path_prefix",
    match: "/",
    backend: { backend_id: backend.id },
    user_agent_filter: { allow: [], deny: ["bad"] },
  });
  return edge;
}

const send = (host: string, path: string, agent = "good") =>
  platform.request(`https://${host}:${platform.publicHttpsPort}${path}`, { headers: { "user-agent": agent } });

/** Returns the totals of the groups by service name, or reason, or "". */
async function totals(query: string, key?: string): Promise<Record<string, Record<string, number | null>>> {
  const { status, body, text } = await platform.api("GET", `/metrics_series?${query}`, undefined, key);
  assert.equal(status, 200, text);
  return Object.fromEntries(
    body.groups.map((group: ApiBody) => [
      group.reason ?? group.name ?? "",
      Object.fromEntries(group.series.map(({ metric, total }: ApiBody) => [metric, total])),
    ]),
  );
}

const requestsOf = async (): Promise<number | null | undefined> => (await totals("metric=requests"))[""]?.["requests"];

before(async () => {
  platform = await startPlatform();
  upstream = await startHttpService((request, response) => {
    response.statusCode = request.url === "/broken" ? 500 : 200;
    response.end("served");
  });
  await platform.startAgent({ upstream: upstream.port, labels: { app: "shop" } });
  otherKey = (await made("POST", "/accounts", { name: "other" })).api_key;
  backend = await made("POST", "/backends/tunnel_group", { labels: { app: "shop" } });
  shop = await publish("shop.localhost");
  blog = await publish("blog.localhost");
});
after(async () => {
  await platform.stop();
  await upstream.stop();
});

describe("the history of traffic", () => {
  it("the history of traffic has the exact counts of real requests, in total and by service and reason", async () => {
    for (let at = 0; at < 5; at += 1) await send("shop.localhost", "/");
    for (let at = 0; at < 3; at += 1) await send("shop.localhost", "/", "bad");
    for (let at = 0; at < 2; at += 1) await send("blog.localhost", "/broken");
    await eventually(requestsOf, (count) => count === 10);
    const metric =
      "requests,errors,forwarded,denied,failed,responses_2xx,responses_4xx,responses_5xx,bytes_out,refused";
    const { "": all } = await totals(`metric=${metric}`);
    assert.equal((all?.["bytes_out"] ?? 0) >= 7 * 6, true);
    assert.deepEqual(
      { ...all, bytes_out: 0 },
      {
        requests: 10,
        errors: 2,
        forwarded: 7,
        denied: 3,
        failed: 0,
        responses_2xx: 5,
        responses_4xx: 3,
        responses_5xx: 2,
        bytes_out: 0,
        refused: 3,
      },
    );
    assert.deepEqual(await totals("metric=requests,errors&group_by=service"), {
      "shop.localhost": { requests: 8, errors: 0 },
      "blog.localhost": { requests: 2, errors: 2 },
    });
    assert.deepEqual(await totals("metric=requests&group_by=service&groups=1"), {
      "shop.localhost": { requests: 8 },
      "": { requests: 2 },
    });
    assert.deepEqual(await totals(`metric=requests&service_id=${blog.id}`), { "blog.localhost": { requests: 2 } });
    assert.deepEqual(await totals("group_by=reason"), { [errorCode("user_agent_denied")]: { refused: 3 } });
    const { body } = await platform.api("GET", "/metrics_series?group_by=reason");
    assert.match(body.groups[0].reason_text, /does not allow this client/);
    assert.equal(body.complete, true);
  });

  it("the history of traffic has percentiles of the latency, which are null in minutes without requests", async () => {
    const { body } = await platform.api("GET", "/metrics_series?metric=latency_p50,latency_p95,requests");
    const [p50, p95, requests] = body.groups[0].series;
    assert.ok(p50.total > 0 && p50.total <= p95.total, JSON.stringify([p50.total, p95.total]));
    for (const [at, count] of requests.values.entries()) assert.equal(p50.values[at] === null, count === 0);
    const sum = requests.values.reduce((all: number, one: number) => all + one, 0);
    assert.equal(sum, requests.total);
    assert.equal((Date.parse(body.until) - Date.parse(body.since)) / 60_000, requests.values.length);
    assert.equal(body.step_seconds, 60);
  });

  it("the history of traffic has the same sums in minutes, hours and days", async () => {
    const before = await requestsOf();
    for (const step of ["1m", "10m", "1h", "6h", "1d"]) {
      assert.deepEqual((await totals(`metric=requests&step=${step}`))[""], { requests: before }, step);
    }
  });

  it("P1: the history of traffic contains only the account's own traffic", async () => {
    assert.deepEqual(await totals("metric=requests", otherKey), { "": { requests: 0 } });
    assert.deepEqual(await totals("group_by=service", otherKey), {});
    assert.deepEqual(await totals(`metric=requests&service_id=${shop.id}`, otherKey), { "": { requests: 0 } });
  });

  it("the history of traffic counts connections of TCP edges and why they were denied", async () => {
    const policy = await made("POST", "/ip_policies", {});
    const address = await made("POST", "/reserved_addrs", {});
    const port = Number(address.addr.split(":")[1]);
    const edge = await made("POST", "/edges/tcp", {
      hostports: [address.addr],
      backend: { backend_id: backend.id },
      ip_restriction: { ip_policy_ids: [policy.id] },
    });
    await portIs("open", port);
    await visit(port);
    const { connections } = (await platform.api("GET", "/connections")).body;
    const count = connections.filter((one: ApiBody) => one.site_id === edge.id).length;
    assert.ok(count > 0);
    const wanted = { [address.addr]: { connections: count, connections_denied: count } };
    const query = `metric=connections,connections_denied&service_id=${edge.id}`;
    await eventually(
      () => totals(query),
      (found) => isDeepStrictEqual(found, wanted),
    );
    assert.equal((await totals("group_by=reason"))[errorCode("source_denied")]?.["refused"], count);
  });

  it("the history of traffic shows an agent's URL as one service although the agent reconnects", async () => {
    const url = "https://again.localhost";
    for (let visits = 1; visits <= 2; visits += 1) {
      const agent = await platform.startAgent({ upstream: upstream.port, url });
      for (let at = 0; at < visits; at += 1) assert.equal((await platform.request(agent.url)).status, 200);
      await agent.close();
      await eventually(
        async () => (await platform.api("GET", "/tunnels")).body.tunnels.length,
        (count) => count === 1,
      );
    }
    await eventually(
      () => totals("metric=requests&group_by=service"),
      (found) => found["again.localhost"]?.["requests"] === 3,
    );
    const { body } = await platform.api("GET", "/metrics_series?metric=requests&group_by=service");
    assert.equal(body.groups.filter(({ name }: ApiBody) => name === "again.localhost").length, 1);
  });

  it("the history of traffic survives a restart, including counts of the last second", async () => {
    const before = (await requestsOf()) ?? 0;
    for (let at = 0; at < 4; at += 1) await send("shop.localhost", "/nowhere", "bad");
    await platform.restart();
    // With several servers, only one of them has stopped.
    await eventually(requestsOf, (count) => count === before + 4);
    assert.equal((await totals("metric=requests&step=1d"))[""]?.["requests"], before + 4);
  });

  it("the history of traffic rejects queries outside its limits, and names the rule", async () => {
    const rejected: readonly (readonly [string, RegExp])[] = [
      ["metric=visits", /"metric" must be a list of requests/],
      ["metric=requests&group_by=reason", /"metric" must be refused/],
      ["group_by=host", /"group_by" must be one of none, service, reason/],
      ["step=7m", /"step" must be one of 1m, 5m/],
      ["since=yesterday", /"since" must be a time/],
      ["since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z", /"since" must be before "until"/],
      ["since=2000-01-01T00:00:00Z&until=2000-01-01T01:00:00Z&step=1m", /"since" must be at most 48 hours ago/],
      [`since=${ago(40)}&step=1m`, /the period has 240\d steps, and at most 1500/],
      [`since=${ago(5)}&step=1m&group_by=service`, /at most 200 are allowed/],
      ["groups=51", /"groups" must be a whole number from 1 to 50/],
      ["service_id=a%20b", /"service_id" must be an id/],
    ];
    for (const [query, message] of rejected) {
      const { status, body } = await platform.api("GET", `/metrics_series?${query}`);
      assert.equal(status, 400, query);
      assert.match(body.msg, message);
    }
  });
});

/** Returns the time a number of hours ago. */
function ago(hours: number): string {
  return new Date(Date.now() - hours * 3_600_000).toISOString();
}
