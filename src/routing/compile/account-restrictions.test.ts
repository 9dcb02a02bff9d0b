import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { exchangeOf } from "../../../test/support/exchange.ts";
import { httpsSite, tableOf } from "../../../test/support/routing.ts";

function setUp() {
  const set = tableOf();
  set.put({ kind: "ip_policy", id: "p", doc: {} });
  set.put({ kind: "https_edge", id: "e", doc: { hostports: ["h:443"] } });
  set.put({ kind: "https_edge_route", id: "r", doc: { edge_id: "e", match_type: "path_prefix", match: "/" } });
  set.put({ kind: "tcp_edge", id: "t", doc: { hostports: ["a:1"] } });
  set.put({ kind: "tcp_edge", id: "other", account_id: "ac_2", doc: { hostports: ["a:2"] } });
  const restrict = (change: object = {}) =>
    set.put({
      kind: "ip_restriction",
      id: "ipx_1",
      doc: { enforced: true, type: "endpoints", ip_policy_ids: ["p"], ...change },
    });
  const rule = (cidr: string, action = "allow") =>
    set.put({ kind: "ip_policy_rule", id: `ipr_${cidr}`, doc: { ip_policy_id: "p", cidr, action } });
  /** Returns whether routes and TCP edges of the account allow `source`, in that order. */
  const admitted = (source: string): boolean[] => {
    const exchange = exchangeOf({ connection: { source } });
    const route = httpsSite(set.table, "h")?.findRoute("/", "h")?.request ?? [];
    const tcp = [...set.table.tcpSites()].find(({ id }) => id === "t")?.connection ?? [];
    return [
      route.every((module) => {
        const step = module.request?.(exchange);
        return step && "outcome" in step && step.answer === undefined;
      }),
      tcp.every((module) => module.connection?.(source).answer === undefined),
    ];
  };
  return { ...set, restrict, rule, admitted };
}

describe("an account's IP restriction", () => {
  it("R4: an account's IP restriction applies to every route and edge of the account, and to no other", () => {
    const { table, restrict, rule, admitted } = setUp();
    rule("192.0.2.0/24");
    assert.deepEqual(admitted("203.0.113.1"), [true, true]);
    restrict();
    assert.deepEqual(admitted("203.0.113.1"), [false, false]);
    assert.deepEqual(admitted("192.0.2.1"), [true, true]);
    assert.equal([...table.tcpSites()].find(({ id }) => id === "other")?.connection.length, 0);
    assert.equal(table.restriction("ac_1", "endpoints")?.("203.0.113.1").outcome, "denied");
    assert.equal(table.restriction("ac_2", "endpoints"), undefined);
  });

  it("an account's IP restriction follows changes of its policy without recompiling the routes, and can be added and removed", () => {
    const { table, put, restrict, rule, admitted } = setUp();
    restrict();
    const route = httpsSite(table, "h")?.findRoute("/", "h");
    assert.deepEqual(admitted("192.0.2.1"), [false, false]);
    rule("192.0.2.0/24");
    assert.deepEqual(admitted("192.0.2.1"), [true, true]);
    assert.equal(httpsSite(table, "h")?.findRoute("/", "h"), route);
    put({ kind: "https_edge_route", id: "r", doc: { edge_id: "e", match_type: "path_prefix", match: "/" } });
    assert.deepEqual(admitted("203.0.113.1"), [false, false]);
    restrict({ enforced: false });
    assert.deepEqual(admitted("203.0.113.1"), [true, true]);
    restrict();
    assert.deepEqual(admitted("203.0.113.1"), [false, false]);
    put({ kind: "ip_restriction", id: "ipx_1", gone: true });
    assert.deepEqual(admitted("203.0.113.1"), [true, true]);
    assert.equal(httpsSite(table, "h")?.findRoute("/", "h")?.request.length, 0);
  });

  it("R6: an account's IP restriction denies everyone while its policy is unusable", () => {
    const { put, restrict, rule, admitted } = setUp();
    rule("192.0.2.0/24");
    const problems = restrict({ ip_policy_ids: ["gone"] });
    assert.match(problems[0]?.message ?? "", /find IP policy "gone"/);
    assert.deepEqual(admitted("192.0.2.1"), [false, false]);
    put({ kind: "ip_policy", id: "gone", doc: {} });
    put({ kind: "ip_policy_rule", id: "ipr_2", doc: { ip_policy_id: "gone", cidr: "192.0.2.0/24", action: "allow" } });
    assert.deepEqual(admitted("192.0.2.1"), [true, true]);
  });

  it("an account's IP restriction treats agents' sessions and endpoints separately", () => {
    const { table, restrict, admitted } = setUp();
    restrict({ type: "agent" });
    assert.deepEqual(admitted("203.0.113.1"), [true, true]);
    assert.equal(table.restriction("ac_1", "agent")?.("203.0.113.1").outcome, "denied");
    assert.equal(table.restriction("ac_1", "endpoints"), undefined);
  });
});
