import { WindowReserve } from "../../lib/io/receive-window.ts";
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { makeManualClock } from "../../../test/support/clock.ts";
import { httpsSite, tableOf } from "../../../test/support/routing.ts";
import { Moments } from "../../lib/moments.ts";
import { Deadlines } from "../../lib/deadlines.ts";
import { Roster } from "../../lib/collections/roster.ts";
import { silentLog } from "../../lib/log.ts";
import type { ExplanationReport, RequestDescription, RouteDraft } from "../../routing/planes/edge-questions.ts";
import type { CompiledRoute, ConnectionSite, Site } from "../../routing/sites/compiled-site.ts";
import { changeStep, passStep } from "../../traffic/step.ts";
import { uploadReserveBytes, defaultLimits } from "../http/http-context.ts";
import { makeCounters } from "../http/http-counters.ts";
import { makeEdgeExplainer } from "./edge-explainer.ts";

const accountId = "ac_1";
const backend = { enabled: true, backend_id: "b" };
const ip_restriction = { enabled: true, ip_policy_ids: ["p"] };
const address = { kind: "static_backend", id: "b", revision: 1, host: "198.51.100.7", port: 80, tls: false } as const;

/**
 * A dry run at an edge "e" for host "h".
 * @param other sites of other hosts, and connections
 */
function setUp(other: { readonly site?: Site; readonly connections?: ConnectionSite } = {}) {
  const clock = makeManualClock();
  const set = tableOf(clock);
  set.put({ kind: "https_edge", id: "e", doc: { hostports: ["h:443"] } });
  set.put({ kind: "tunnel_group_backend", id: "b", doc: { labels: { app: "x" } } });
  set.put({ kind: "ip_policy", id: "p", doc: {} });
  set.put({ kind: "ip_policy_rule", id: "ipr_1", doc: { ip_policy_id: "p", cidr: "192.0.2.0/24", action: "allow" } });
  set.put({ kind: "ip_policy_rule", id: "ipr_2", doc: { ip_policy_id: "p", cidr: "192.0.2.9/32", action: "deny" } });
  const route = (id: string, match: string, blocks: object, match_type = "path_prefix") =>
    set.put({ kind: "https_edge_route", id, doc: { edge_id: "e", match_type, match, ...blocks } });
  const explainer = makeEdgeExplainer({
    table: set.table,
    sites: {
      https: (host) => (host === other.site?.hosts[0] ? other.site : httpsSite(set.table, host)),
      http: () => undefined,
      internalConnection: () => undefined,
      endpoint: () => undefined,
      endpointAt: () => other.connections,
    },
    upstreams: { foresee: () => Promise.resolve(address as never) },
    context: {
      log: silentLog,
      clock,
      moments: new Moments(clock),
      deadlines: new Deadlines(clock),
      limits: defaultLimits,
      counters: makeCounters(),
      upstreams: { choose: () => assert.fail("a dry run chose an upstream") },
      connections: new Roster(),
      uploadWindows: new WindowReserve(uploadReserveBytes),
      advertisedPort: { https: 443, http: 80 },
      trustsProxy: undefined,
      routeFailed: () => assert.fail("a dry run closed a route"),
      finished: () => assert.fail("a dry run was reported as a request"),
    },
    listenPort: () => 443,
  });
  const ask = async (
    described: Partial<RequestDescription> = {},
    siteId = "e",
    draft?: RouteDraft,
  ): Promise<ExplanationReport> => {
    const request = { method: "GET", host: "h", target: "/", headers: [], source: "192.0.2.1", body: "" };
    const answer = await explainer.request({
      name: "explain_request",
      accountId,
      siteId,
      request: { ...request, response: undefined, ...described },
      draft,
    });
    assert.ok(answer.name === "explanation", answer.name);
    return answer.explanation;
  };
  return { ...set, explainer, route, ask };
}

describe("explain", () => {
  it("explain returns edge, route, every module's step with the deciding rule, and the upstream of the request", async () => {
    const { route, ask } = setUp();
    route("r", "/api", { ip_restriction, backend });
    const through = await ask({ target: "/api/x" });
    assert.deepEqual(
      through.steps.map(({ by, outcome, decidedBy }) => [by, outcome, decidedBy?.id]),
      [
        ["router", "passed", "r"],
        ["ip_restriction", "passed", "ipr_1"],
      ],
    );
    assert.deepEqual(through.edge, { kind: "https_edge", id: "e", revision: 1 });
    assert.equal(through.outcome, "forwarded");
    assert.equal(through.address, "198.51.100.7:80");
    const stopped = await ask({ target: "/api", source: "192.0.2.9" });
    assert.equal(stopped.steps.at(-1)?.decidedBy?.id, "ipr_2");
    assert.deepEqual([stopped.outcome, stopped.status, stopped.address], ["denied", 403, undefined]);
  });

  it("explain tests a draft policy with the other modules of a route, without changing the route", async () => {
    const { route, ask, table } = setUp();
    route("r", "/", { ip_restriction, backend });
    route("r2", "/other", { backend });
    const site = httpsSite(table, "h");
    const policy = "on_http_request: [{expressions: [\"req.url.path == '/x'\"], actions: [{type: deny}]}]";
    const draft = { routeId: "r", fields: { traffic_policy: { enabled: true, value: policy } } };
    const told = await ask({ target: "/x" }, "e", draft);
    assert.deepEqual([...new Set(told.steps.map(({ by }) => by))], ["router", "ip_restriction", "traffic_policy"]);
    assert.equal(told.outcome, "denied");
    assert.equal((await ask({ target: "/x", source: "192.0.2.9" }, "e", draft)).steps.at(-1)?.by, "ip_restriction");
    assert.equal((await ask({ target: "/y" }, "e", draft)).outcome, "forwarded");
    assert.equal((await ask({ target: "/other" }, "e", draft)).outcome, "forwarded", "the other route is its own");
    assert.equal((await ask({ target: "/x" })).outcome, "forwarded");
    const broken = { routeId: "r", fields: { traffic_policy: { enabled: true, value: "on_http_request: 1" } } };
    assert.equal((await ask({ target: "/x" }, "e", broken)).status, 500);
    assert.equal(httpsSite(table, "h"), site);
    assert.deepEqual(table.change(9, []), [], "no problem is left behind");
  });

  it("explain lists routes that nearly matched", async () => {
    const { route, ask } = setUp();
    route("r1", "/", { backend });
    route("r2", "/api", { backend }, "exact_path");
    route("r3", "/ap", { backend });
    route("r4", "/API", { backend });
    route("r5", "/other", { backend });
    const { near, route: matched } = await ask({ target: "/api/" });
    assert.equal(matched?.id, "r1");
    assert.deepEqual(
      near.map(({ id, reason }) => [id, reason.split(",")[0]]),
      [
        ["r2", "the final slash differs"],
        ["r3", "the path continues within a segment"],
        ["r4", "the case differs"],
      ],
    );
    assert.match((await ask({ target: "/api" })).near[0]?.reason ?? "", /more specific/);
  });

  it("explain gives the reason if nothing answers", async () => {
    const { route, ask } = setUp();
    assert.match((await ask()).steps.at(-1)?.reason ?? "", /no route matches "\/"/);
    route("r", "/", {});
    assert.match((await ask()).steps.at(-1)?.reason ?? "", /the route has no backend/);
    route("r", "/", { backend: { enabled: true, backend_id: "gone" } });
    const broken = await ask();
    assert.equal(broken.status, 500);
    assert.match(broken.steps.at(-1)?.reason ?? "", /find backend "gone"/);
  });

  it("explain describes the error of an invalid request", async () => {
    const { ask } = setUp();
    const wrong = await ask({
      headers: [
        ["content-length", "1"],
        ["content-length", "2"],
      ],
    });
    assert.deepEqual([wrong.status, wrong.edge?.id, wrong.near], [400, "e", []]);
  });

  it("explain shows the forwarded header fields, and a described response as the client would receive it", async () => {
    const { route, ask } = setUp();
    const request_headers = { enabled: true, remove: [], add: { "x-ip": "${conn.client_ip}" } };
    route("r", "/", { request_headers, backend, compression: { enabled: true } });
    const told = await ask({
      headers: [["accept-encoding", "gzip"]],
      response: { status: 200, headers: [["content-type", "text/html"]], body: "a page" },
    });
    assert.ok(told.requestHeaders.some(([name, value]) => name === "x-ip" && value === "192.0.2.1"));
    assert.equal(Object.fromEntries(told.response?.headers ?? [])["content-encoding"], "gzip");
    assert.equal(told.steps.at(-1)?.by, "compression");
  });

  it("R6: explain checks a described response after each module like a real one", async () => {
    const status = (to: number): Partial<CompiledRoute> => ({
      response: [
        {
          response(exchange) {
            if (exchange.response) exchange.response.status = to;
            return changeStep("test", `set the status ${to}`);
          },
        },
      ],
    });
    for (const [to, from] of [
      [99, 200],
      [204, 200],
      [200, 304],
    ] as const) {
      const { ask } = setUp({ site: endpoint(status(to)) });
      const told = await ask({ host: "own", response: { status: from, headers: [], body: "" } }, "ep_1");
      assert.equal(told.status, 500, `${from} to ${to}`);
      assert.match(told.steps.at(-1)?.reason ?? "", /a module failed/);
    }
  });

  it("explain covers the endpoints of agents", async () => {
    const { ask, explainer } = setUp({ site: endpoint() });
    const told = await ask({ host: "own" }, "ep_1");
    assert.deepEqual([told.edge?.kind, told.route?.id, told.outcome], ["endpoint", "ep_1", "forwarded"]);
    const request = { method: "GET", host: "own", target: "/", headers: [], source: "", body: "", response: undefined };
    const foreign = await explainer.request({ name: "explain_request", accountId: "b", siteId: "ep_1", request });
    assert.equal(foreign.name, "unknown");
  });

  it("explain covers connections to TCP edges", async () => {
    const { put, explainer } = setUp();
    put({ kind: "tcp_edge", id: "t", doc: { hostports: ["a:1"], ip_restriction, backend } });
    const ask = (source: string) =>
      explainer.connection({ name: "explain_connection", accountId, kind: "tcp_edge", siteId: "t", source });
    const through = await ask("192.0.2.1");
    assert.equal(through.name === "explanation" && through.explanation.address, "198.51.100.7:80");
    const stopped = await ask("192.0.2.9");
    assert.equal(stopped.name === "explanation" && stopped.explanation.outcome, "denied");
  });

  it("R6: explain reports a connection closed by a module that throws", async () => {
    const connections: ConnectionSite = {
      kind: "tcp_endpoint",
      id: "ep_2",
      accountId,
      revision: 0,
      mark: 0,
      hostports: ["h:1"],
      hosts: ["h"],
      ports: [1],
      handshake: {},
      problem: undefined,
      connection: [
        {
          connection() {
            throw new Error("out of order");
          },
        },
      ],
      upstream: undefined,
    };
    const { explainer } = setUp({ connections });
    const place = { kind: "tcp_endpoint", siteId: "ep_2", host: "h", port: 1 } as const;
    const told = await explainer.connection({ name: "explain_connection", accountId, ...place, source: "192.0.2.1" });
    assert.ok(told.name === "explanation");
    assert.match(told.explanation.steps.at(-1)?.reason ?? "", /a module failed: out of order/);
  });
});

/** Returns an agent's endpoint at host "own". */
function endpoint(blocks: Partial<CompiledRoute> = {}): Site {
  const route: CompiledRoute = {
    id: "ep_1",
    revision: 0,
    mark: 0,
    matched: passStep("router", "the endpoint"),
    problem: undefined,
    request: [],
    response: [],
    settled: [],
    upstream: { kind: "static", id: "b", revision: 1, address: "198.51.100.7:80", tls: false } as never,
    ...blocks,
  };
  return {
    kind: "endpoint",
    id: "ep_1",
    accountId,
    revision: 0,
    hosts: ["own"],
    handshake: {},
    problem: undefined,
    findRoute: () => route,
    advertises: () => true,
  };
}
