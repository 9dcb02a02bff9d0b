import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { endpointIdOf } from "../lib/ids.ts";
import { internalKey } from "../lib/internal-names.ts";
import { nameOfEntry } from "./news.ts";
import type { SharedTunnel, TunnelEntry } from "./news.ts";
import { Replica } from "./replica.ts";
import type { SessionReport, TunnelReport } from "./agent-reports.ts";
import { findHolder, hasForeignHost } from "./served-names.ts";

interface Edge {
  readonly edgeId: string;
}

const one: Edge = { edgeId: "ed_1" };
const two: Edge = { edgeId: "ed_2" };
const startedAt = "2026-01-01T00:00:00Z";

function sessionOf(id: string, accountId = "ac_1"): SessionReport {
  const texts = { credentialId: "cr_1", agentVersion: "1", ip: "192.0.2.1", os: "linux", metadata: "", region: "" };
  return { id, accountId, ...texts, startedAt, transport: "ngrok/2" };
}

function reportOf(id: string, more: Partial<TunnelReport> = {}): TunnelReport {
  const texts = { credentialId: "cr_1", metadata: "", forwardsTo: "http://localhost:80", region: "" };
  return { id, accountId: "ac_1", sessionId: "ts_1", startedAt, ...texts, ...more };
}

function entryOf(tunnel: TunnelReport, edge = one): TunnelEntry {
  return { what: "tunnel", edgeId: edge.edgeId, tunnel };
}

function published(id: string, publicUrl: string, more: Partial<TunnelReport> = {}, pooled = false): TunnelReport {
  const proto = publicUrl.slice(0, publicUrl.indexOf(":")) as "https";
  return reportOf(id, { ...more, endpoint: { id: endpointIdOf(id), proto, publicUrl, ...(pooled && { pooled }) } });
}

/** Returns a replica with agents of two accounts at one edge. */
function withSessions(): Replica<Edge> {
  const replica = new Replica<Edge>();
  replica.putSession(sessionOf("ts_1"), one);
  replica.putSession(sessionOf("ts_2", "ac_2"), one);
  return replica;
}

describe("a replica of agents", () => {
  it("a replica of agents finds entries by id, account, endpoint and labels, before and after changes", () => {
    const replica = withSessions();
    replica.putTunnel(entryOf(published("tn_1", "https://a.example.com")), one);
    for (const ask of [() => {}, () => [...replica.ids("tunnels", "ac_1")]]) {
      ask();
      replica.putTunnel(entryOf(reportOf("tn_2", { labels: { app: "web", zone: "b" } })), one);
      replica.putTunnel(
        entryOf(reportOf("tn_3", { accountId: "ac_2", sessionId: "ts_2", labels: { app: "web" } })),
        one,
      );
      assert.deepEqual([...replica.ids("sessions", "ac_1")], ["ts_1"]);
      assert.deepEqual([...replica.ids("tunnels", "ac_1")].sort(), ["tn_1", "tn_2"]);
      assert.deepEqual([...replica.ids("endpoints", "ac_1")], ["ep_1"]);
      assert.deepEqual(replica.findLabelled("ac_1", { app: "web" }), ["tn_2"]);
      assert.deepEqual(replica.findLabelled("ac_1", { app: "web", zone: "c" }), []);
      assert.equal(replica.tunnelOfEndpoint("ep_1")?.id, "tn_1");
      assert.equal(replica.tunnelOfEndpoint("ep_2"), undefined);
      assert.deepEqual([replica.count("sessions"), replica.count("tunnels")], [2, 3]);
      assert.equal(replica.closeTunnel("tn_2"), one);
      assert.equal(replica.closeTunnel("tn_3", one), one);
      assert.equal(replica.closeTunnel("tn_3"), undefined);
      assert.deepEqual(replica.findLabelled("ac_1", { app: "web" }), []);
    }
  });

  it("a replica of agents preserves an entry at its new edge when the old edge closes it late", () => {
    const replica = withSessions();
    const labelled = reportOf("tn_1", { labels: { app: "web" } });
    replica.putTunnel(entryOf(labelled), one);
    assert.deepEqual(replica.findLabelled("ac_1", { app: "web" }), ["tn_1"]);
    replica.putSession(sessionOf("ts_1"), two);
    replica.putTunnel(entryOf(labelled, two), two);
    assert.deepEqual([replica.placeOfSession("ts_1"), replica.placeOfTunnel("tn_1")], [two, two]);
    assert.deepEqual([replica.closeTunnel("tn_1", one), replica.closeSession("ts_1", one)], [one, one]);
    assert.deepEqual([replica.placeOfSession("ts_1"), replica.placeOfTunnel("tn_1")], [two, two]);
    assert.deepEqual(replica.findLabelled("ac_1", { app: "web" }), ["tn_1"]);
    assert.deepEqual(replica.idsAt(two), ["tn_1", "ts_1"]);
  });

  it("a replica of agents removes all entries of an edge that leaves, and no others", () => {
    const replica = withSessions();
    replica.putTunnel(entryOf(reportOf("tn_1")), one);
    replica.putSession(sessionOf("ts_3"), two);
    replica.putTunnel(entryOf(reportOf("tn_2", { sessionId: "ts_3" }), two), two);
    const changes = replica.changes;
    replica.leave(one);
    assert.ok(replica.changes > changes);
    assert.deepEqual([...replica.allIds()], ["ts_3", "tn_2"]);
    assert.deepEqual([...replica.ids("tunnels", "ac_1")], ["tn_2"]);
    assert.deepEqual(
      replica.entriesAt(two, two.edgeId).map(({ what }) => what),
      ["session", "tunnel"],
    );
    replica.leave(one);
  });

  it("a replica of agents stores a tunnel whose session was not reported, and lists no session for it", () => {
    const replica = new Replica<Edge>();
    replica.putTunnel(entryOf(published("tn_1", "https://a.example.com")), one);
    assert.deepEqual([...replica.ids("tunnels", "ac_1")], ["tn_1"]);
    assert.deepEqual([...replica.ids("sessions", "ac_1")], []);
    assert.deepEqual([replica.count("sessions"), replica.count("tunnels")], [0, 1]);
    replica.leave(one);
    assert.deepEqual([...replica.allIds()], []);
  });

  it("a replica of agents finds the account that serves a host and port, and distinguishes a pool from a single tunnel", () => {
    const replica = withSessions();
    replica.putTunnel(entryOf(published("tn_1", "https://a.example.com", {}, true)), one);
    replica.putTunnel(entryOf(published("tn_2", "tcp://tcp.example.com:20001")), one);
    replica.putTunnel(entryOf(published("tn_3", "https://db.internal")), one);
    replica.putTunnel(entryOf(published("tn_4", "tcp://db.internal:5432")), one);
    const find = (hostport: string, accountId = "ac_1") => findHolder([replica], hostport, accountId);
    assert.deepEqual(find("a.example.com:443"), { accountId: "ac_1", tunnelId: "tn_1", pooled: "https" });
    assert.equal(find("a.example.com:80"), undefined);
    assert.equal(find("tcp.example.com:20001", "ac_2")?.tunnelId, "tn_2");
    assert.equal(find("other.example.com:20001"), undefined);
    assert.equal(find("db.internal:443")?.tunnelId, "tn_3");
    assert.equal(find("db.internal:5432")?.tunnelId, "tn_4");
    assert.equal(find("db.internal:443", "ac_2"), undefined);
  });

  it("P1: a replica of agents finds hosts of other accounts, through wildcards in both directions", () => {
    const replica = withSessions();
    replica.putTunnel(entryOf(published("tn_1", "http://a.app.example.com")), one);
    replica.putTunnel(entryOf(published("tn_2", "https://*.wild.example.com")), one);
    const isForeign = (name: string, accountId = "ac_2") => hasForeignHost([replica], name, accountId);
    assert.deepEqual(
      ["a.app.example.com", "*.app.example.com", "x.wild.example.com", "*.wild.example.com"].map((name) => [
        isForeign(name),
        isForeign(name, "ac_1"),
      ]),
      Array.from({ length: 4 }, () => [true, false]),
    );
    assert.deepEqual(
      ["b.app.example.com", "example.com"].map((name) => isForeign(name)),
      [false, false],
    );
  });

  it("a replica of agents derives the claimed name from the report of a tunnel that its edge does not share", () => {
    const nameOf = (url: string): string => nameOfEntry(entryOf(published("tn_1", url)));
    assert.equal(nameOf("https://a.example.com"), "a.example.com");
    assert.equal(nameOf("tls://a.example.com:8443"), "a.example.com");
    assert.equal(nameOf("http://a.example.com:8080"), "http://a.example.com");
    assert.equal(nameOf("tcp://tcp.example.com:20001"), ":20001");
    const port = internalKey({ scheme: "tcp", host: "db.internal", port: 5432 }, "ac_1");
    assert.equal(nameOf("tcp://db.internal:5432"), port);
    assert.equal(
      nameOf("https://db.internal"),
      internalKey({ scheme: "https", host: "db.internal", port: 443 }, "ac_1"),
    );
    const shared = { labels: { app: "web" } } as unknown as SharedTunnel;
    assert.equal(nameOfEntry({ what: "tunnel", edgeId: "ed_1", shared }), "");
  });
});
