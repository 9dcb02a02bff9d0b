import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { tableOf } from "../../test/support/routing.ts";
import type { UpstreamPlan } from "../traffic/upstream-plan.ts";

type Doc = Readonly<Record<string, unknown>>;

function planned(
  backends: Readonly<Record<string, readonly [kind: string, doc: Doc]>>,
  id: string,
): UpstreamPlan | string | undefined {
  const { table, put } = tableOf();
  for (const [name, [kind, doc]] of Object.entries(backends)) put({ kind, id: name, doc });
  put({ kind: "tcp_edge", id: "e", doc: { hostports: ["a:1"], backend: { enabled: true, backend_id: id } } });
  const [site] = table.tcpSites();
  return site?.problem?.message ?? site?.upstream;
}

function problemOf(planned: UpstreamPlan | string | undefined): string {
  return typeof planned === "string" ? planned : "";
}

const group: readonly [string, Doc] = ["tunnel_group_backend", { labels: { app: "web" } }];
const groupPlan = { kind: "tunnel_group", id: "g", revision: 1, accountId: "ac_1", labels: { app: "web" } };

describe("backend", () => {
  it("the backend module plans every kind of backend", () => {
    const fixed: readonly [string, Doc] = ["http_response_backend", { status_code: 418, headers: null, body: "no" }];
    const address = (address: string): readonly [string, Doc] => [
      "static_backend",
      { address, tls: { enabled: true } },
    ];
    assert.deepEqual(planned({ g: group }, "g"), groupPlan);
    assert.deepEqual(planned({ h: fixed }, "h"), {
      kind: "http_response",
      id: "h",
      revision: 1,
      status: 418,
      headers: {},
      body: "no",
    });
    assert.deepEqual(planned({ s: address("db.example:5432") }, "s"), {
      kind: "static",
      id: "s",
      revision: 1,
      host: "db.example",
      port: 5432,
      tls: true,
    });
    for (const [text, host] of [
      ["192.0.2.1:80", "192.0.2.1"],
      ["[2001:db8::1]:80", "2001:db8::1"],
    ] as const) {
      assert.deepEqual(planned({ s: address(text) }, "s"), {
        kind: "static",
        id: "s",
        revision: 1,
        host,
        port: 80,
        tls: true,
      });
    }
    assert.deepEqual(planned({ g: group, f: ["failover_backend", { backends: ["g", "g"] }] }, "f"), {
      kind: "failover",
      id: "f",
      revision: 2,
      members: [groupPlan, groupPlan],
    });
    assert.deepEqual(planned({ g: group, w: ["weighted_backend", { backends: { g: 3 } }] }, "w"), {
      kind: "weighted",
      id: "w",
      revision: 2,
      members: [{ plan: groupPlan, weight: 3 }],
    });
  });

  it("R6: the backend module rejects cycles, missing members and unlimited growth", () => {
    const failover = (...backends: string[]): readonly [string, Doc] => ["failover_backend", { backends }];
    assert.match(
      problemOf(planned({ a: failover("b"), b: failover("a") }, "a")),
      /"a": it leads back to itself by a, b, a/,
    );
    assert.match(problemOf(planned({ a: failover("a") }, "a")), /leads back to itself/);
    assert.match(problemOf(planned({ a: failover("gone") }, "a")), /find backend "gone"/);
    const doubling = Object.fromEntries(
      Array.from({ length: 20 }, (_, at) => [`f${at}`, failover(`f${at + 1}`, `f${at + 1}`)]),
    );
    assert.match(problemOf(planned({ ...doubling, f20: group }, "f0")), /leads to more than 1000/);
  });

  it("the backend module follows a change of a member of a member", () => {
    const { table, put } = tableOf();
    put({ kind: "tcp_edge", id: "e", doc: { hostports: ["a:1"], backend: { enabled: true, backend_id: "f" } } });
    put({ kind: "failover_backend", id: "f", doc: { backends: ["w"] } });
    put({ kind: "weighted_backend", id: "w", doc: { backends: { g: 1 } } });
    assert.match([...table.tcpSites()][0]?.problem?.message ?? "", /find backend "g"/);
    put({ kind: group[0], id: "g", doc: group[1] });
    assert.equal([...table.tcpSites()][0]?.problem, undefined);
    assert.match(JSON.stringify([...table.tcpSites()][0]?.upstream), /"app":"web"/);
  });
});
