import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ResourceObject } from "../../schema/object.ts";
import { Ports } from "./ports.ts";

function edge(id: string, ...hostports: string[]): ResourceObject {
  return { kind: "tcp_edge", id, account_id: "ac_1", revision: 1, doc: { hostports } };
}

function reservation(id: string, addr: string): ResourceObject {
  return { kind: "reserved_addr", id, account_id: "ac_1", revision: 1, doc: { addr } };
}

describe("holders of ports", () => {
  it("holders of ports are edges before reservations, and reservations again after the edge is deleted", () => {
    const ports = new Ports();
    const [address, db] = [reservation("ra_1", "t.example.com:20001"), edge("edgtcp_1", "t.example.com:20001")];
    ports.reserve(undefined, address);
    assert.equal(ports.holder(20_001), address);
    ports.serve(undefined, db);
    assert.equal(ports.holder(20_001), db);
    ports.serve(db, null);
    assert.equal(ports.holder(20_001), address);
    ports.reserve(address, null);
    assert.equal(ports.holder(20_001), undefined);
  });

  it("holders of ports keep a port that moves to another edge before the first edge gives it up", () => {
    const ports = new Ports();
    const [one, two] = [edge("edgtcp_1", "a.example.com:7000"), edge("edgtcp_2", "b.example.com:7000")];
    ports.serve(undefined, one);
    ports.serve(undefined, two);
    ports.serve(one, edge("edgtcp_1"));
    assert.equal(ports.holder(7000), two);
  });

  it("holders of ports ignore invalid hostports", () => {
    const ports = new Ports();
    ports.serve(undefined, edge("edgtcp_1", "a.example.com:0", "a.example.com", "a.example.com:70000"));
    for (const port of [0, 70_000, 4464]) assert.equal(ports.holder(port), undefined);
  });
});
