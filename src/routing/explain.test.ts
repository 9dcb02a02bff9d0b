import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { makeManualClock } from "../../test/support/clock.ts";
import { exchangeOf, runRequest, runResponse } from "../../test/support/exchange.ts";
import { seededRandom } from "../../test/support/random.ts";
import type { Random } from "../../test/support/random.ts";
import { tableOf } from "../../test/support/routing.ts";
import type { RoutingTable } from "./sites/compiled.ts";
import { explainConnection, explainRequest } from "./explain.ts";
import type { DescribedRequest, Explainer } from "./explain.ts";
import { sign } from "../webhooks/verify.ts";

const connection = {
  source: "192.0.2.1",
  sourcePort: 50_000,
  localAddress: "198.51.100.1",
  localPort: 443,
  startedAt: 0,
  tls: undefined,
};

function described(change: Partial<DescribedRequest> & { source?: string } = {}): DescribedRequest {
  const { source = "192.0.2.1", ...rest } = change;
  return {
    method: "GET",
    scheme: "https",
    httpVersion: "1.1",
    host: "h",
    target: change.path ?? "/",
    path: "/",
    websocket: false,
    headers: [["host", "h"]],
    body: Buffer.alloc(0),
    connection: { ...connection, source },
    ...rest,
  };
}

function explainer(table: RoutingTable): Explainer {
  return { table, siteFor: (host) => table.httpsSite(host), foresee: () => Promise.resolve(undefined) };
}

function setUp() {
  const clock = makeManualClock();
  const set = tableOf(clock);
  set.put({ kind: "https_edge", id: "e", doc: { hostports: ["h:443"] } });
  set.put({ kind: "tunnel_group_backend", id: "b", doc: { labels: { app: "x" } } });
  set.put({ kind: "ip_policy", id: "p", doc: {} });
  set.put({ kind: "ip_policy_rule", id: "ipr_1", doc: { ip_policy_id: "p", cidr: "192.0.2.0/24", action: "allow" } });
  set.put({ kind: "ip_policy_rule", id: "ipr_2", doc: { ip_policy_id: "p", cidr: "192.0.2.9/32", action: "deny" } });
  const route = (id: string, match: string, blocks: object, match_type = "path_prefix") =>
    set.put({ kind: "https_edge_route", id, doc: { edge_id: "e", match_type, match, ...blocks } });
  return { ...set, clock, route };
}

const backend = { enabled: true, backend_id: "b" };
const ip_restriction = { enabled: true, ip_policy_ids: ["p"] };

describe("explain", () => {
  it("tells edge, route, every module's step with the deciding rule, and the upstream", async () => {
    const { table, route } = setUp();
    route("r", "/api", { ip_restriction, backend });
    const through = await explainRequest(explainer(table), described({ path: "/api/x" }));
    assert.deepEqual(
      through.steps.map(({ by, outcome, decidedBy }) => [by, outcome, decidedBy?.id]),
      [
        ["router", "passed", "r"],
        ["ip_restriction", "passed", "ipr_1"],
      ],
    );
    assert.deepEqual(through.edge, { kind: "https_edge", id: "e", revision: 1 });
    assert.equal(through.answer, undefined);
    assert.equal(through.upstream?.id, "b");
    const stopped = await explainRequest(explainer(table), described({ path: "/api", source: "192.0.2.9" }));
    assert.equal(stopped.steps.at(-1)?.decidedBy?.id, "ipr_2");
    assert.deepEqual(stopped.answer, { error: "source_denied" });
    assert.equal(stopped.upstream, undefined);
  });

  it("tells which routes nearly matched", async () => {
    const { table, route } = setUp();
    route("r1", "/", { backend });
    route("r2", "/api", { backend }, "exact_path");
    route("r3", "/ap", { backend });
    route("r4", "/API", { backend });
    route("r5", "/other", { backend });
    const { near, route: matched } = await explainRequest(explainer(table), described({ path: "/api/" }));
    assert.equal(matched?.id, "r1");
    assert.deepEqual(
      near.map(({ id, reason }) => [id, reason.split(",")[0]]),
      [
        ["r2", "the final slash differs"],
        ["r3", "the path goes on within a segment"],
        ["r4", "the case differs"],
      ],
    );
    assert.match(
      (await explainRequest(explainer(table), described({ path: "/api" }))).near[0]?.reason ?? "",
      /more specific/,
    );
  });

  it("tells why nothing answers", async () => {
    const { table, route } = setUp();
    assert.deepEqual((await explainRequest(explainer(table), described({ host: "other" }))).answer, {
      error: "unknown_host",
    });
    assert.deepEqual((await explainRequest(explainer(table), described())).answer, { error: "no_route" });
    route("r", "/", {});
    assert.deepEqual((await explainRequest(explainer(table), described())).answer, { error: "backend_empty" });
    route("r", "/", { backend: { enabled: true, backend_id: "gone" } });
    const broken = await explainRequest(explainer(table), described());
    assert.deepEqual(broken.answer, { error: "route_broken" });
    assert.match(broken.steps.at(-1)?.reason ?? "", /find backend "gone"/);
  });

  it("shows header fields as they would leave, and a described response as the client would get it", async () => {
    const { table, route } = setUp();
    const request_headers = { enabled: true, remove: [], add: { "x-ip": "${conn.client_ip}" } };
    route("r", "/", { request_headers, backend, compression: { enabled: true } });
    const headers = [
      ["host", "h"],
      ["accept-encoding", "gzip"],
    ] as const;
    const response = { status: 200, headers: [["content-type", "text/html"]] as const };
    const told = await explainRequest(explainer(table), described({ headers, response }));
    assert.deepEqual(told.requestHeaders.at(-1), ["x-ip", "192.0.2.1"]);
    assert.deepEqual(Object.fromEntries(told.response?.headers ?? [])["content-encoding"], "gzip");
    assert.equal(told.steps.at(-1)?.by, "compression");
  });

  it("explains connections to TLS and TCP edges", async () => {
    const { table, put } = setUp();
    put({ kind: "tcp_edge", id: "t", doc: { hostports: ["a:1"], ip_restriction, backend } });
    const [site] = table.tcpSites();
    assert.ok(site);
    const foresee = () => Promise.resolve(undefined);
    assert.equal((await explainConnection({ foresee }, site, "192.0.2.1")).upstream?.id, "b");
    assert.deepEqual((await explainConnection({ foresee }, site, "192.0.2.9")).answer, { error: "source_denied" });
  });

  it("says exactly what then happens, for random configurations and requests, and changes nothing", async () => {
    const random = seededRandom(21);
    for (let round = 0; round < 150; round += 1) {
      const { table, route, clock } = setUp();
      for (const match of ["/", "/a", "/a/b"]) if (random() < 0.8) route(`r${match}`, match, randomBlocks(random));
      for (let step = 0; step < 15; step += 1) {
        clock.pass(random.below(4000));
        const body = random.pick(["", "{}"]);
        const target = `${random.pick(["/", "/a", "/a/", "/a/b/c", "/ab"])}${random.pick(["", "?q=1"])}`;
        const signature = sign("github", { secret: "s", body: Buffer.from(body), url: "", now: 0 }).headers;
        const headers = [
          ["host", "h"] as const,
          ...(random() < 0.7 ? [["user-agent", random.pick(["curl", "Mozilla"])] as const] : []),
          ...(random() < 0.6 ? Object.entries(signature) : []),
          ...(random() < 0.5 ? [["accept-encoding", "br"] as const] : []),
        ];
        const response = {
          status: random.pick([200, 204, 500]),
          headers: [["content-type", random.pick(["text/html", "image/png"])] as const],
        };
        const source = random.pick(["192.0.2.1", "192.0.2.9", "203.0.113.1"]);
        const path = target.split("?")[0] ?? "";
        const told = await explainRequest(
          explainer(table),
          described({ target, path, headers, body: Buffer.from(body), source, response }),
        );

        const real = table.httpsSite("h")?.findRoute(path, "h");
        assert.equal(told.route?.id, real?.id);
        if (!real || real.problem) continue;
        const exchange = exchangeOf({
          target,
          host: "h",
          headers,
          body,
          connection: { ...connection, source },
          response,
        });
        const last = real.request.length > 0 ? await runRequest(real, exchange) : undefined;
        const passed = last?.answer === undefined && real.upstream !== undefined;
        if (passed && real.response.length > 0) runResponse(real, exchange);
        const ends = last?.answer ?? (real.upstream ? undefined : { error: "backend_empty" });
        assert.deepEqual(told.answer, ends);
        assert.deepEqual(
          told.steps.filter(({ by }) => by !== "router"),
          exchange.steps,
        );
        assert.deepEqual(told.requestHeaders, exchange.request.headers.entries());
        if (passed) {
          assert.deepEqual(told.response?.headers, exchange.response?.headers.entries());
          for (const module of real.settled) module.settled?.(exchange, response.status);
        }
      }
    }
  });
});

function randomBlocks(random: Random): object {
  const some = (blocks: object): object => (random() < 0.5 ? blocks : {});
  return {
    ...some({ ip_restriction }),
    ...some({
      user_agent_filter: {
        enabled: random() < 0.8,
        allow: random.pick([[], ["curl"]]),
        deny: random.pick([[], [".*"]]),
      },
    }),
    ...some({ webhook_verification: { enabled: true, provider: "github", secret: "s" } }),
    ...some({
      circuit_breaker: {
        enabled: true,
        tripped_duration: 5,
        rolling_window: 10,
        num_buckets: 2,
        volume_threshold: 2,
        error_threshold_percentage: 0.5,
      },
    }),
    ...some({
      request_headers: {
        enabled: true,
        remove: ["user-agent"],
        add: { "x-ip": "${conn.client_ip} ${.circuit_breaker.decision}" },
      },
    }),
    ...some({ response_headers: { enabled: true, remove: [], add: { "x-c": "${.compression.algorithm}" } } }),
    ...some({ compression: { enabled: true } }),
    ...(random() < 0.85 ? { backend: { enabled: true, backend_id: random() < 0.9 ? "b" : "gone" } } : {}),
  };
}
