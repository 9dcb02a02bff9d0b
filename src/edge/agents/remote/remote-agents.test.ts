import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { bindRequest } from "../../../../test/support/bind-request.ts";
import { makeManualClock } from "../../../../test/support/clock.ts";
import { Refusal } from "../../../lib/errors.ts";
import { silentLog } from "../../../lib/log.ts";
import { makeMetrics } from "../../../lib/metrics.ts";
import { fingerprintToken, hashToken, newToken, tokenPrefixes } from "../../../lib/tokens.ts";
import { makeRoutingTable } from "../../../routing/routing-table.ts";
import type { DirectoryNews } from "../../../directory/news.ts";
import type { AgentSession, LivenessAnswers, BindProgress, BindRequest } from "../../../tunnel/server-hooks.ts";
import { makePeers } from "../../peers/peers.ts";
import type { PeerHost } from "../../peers/arriving-stream.ts";
import { defaultAgentLimits } from "../tunnels/agent-limits.ts";
import { makeAgentRegistry } from "../registry.ts";
import type { AgentRegistry } from "../registry.ts";

const token = newToken(tokenPrefixes.agent);
const startedAt = 1_700_000_000_000;
/** Creates an edge with news of another edge, whose name claims are granted. */
function edgeBesideOthers(tunnelsPerAccount = 100): AgentRegistry {
  const clock = makeManualClock(startedAt);
  const table = makeRoutingTable(clock);
  const peers = makePeers({ edgeId: "ed_1", host: {} as PeerHost, clock, log: silentLog, metrics: makeMetrics() });
  const registry: AgentRegistry = makeAgentRegistry({
    table,
    report(message) {
      if (message.type === "claim") registry.shared?.names.answered(message.call, "granted");
    },
    domain: "tunnels.example",
    advertisedHttpsPort: () => 443,
    region: "",
    clock,
    log: silentLog,
    limits: { ...defaultAgentLimits, tunnelsPerAccount },
    others: { peers },
  });
  const credential = { fingerprint: fingerprintToken(token), token_hash: hashToken(token).toString("hex"), acl: [] };
  const doc = { ...credential, owner_id: null };
  const object = { kind: "credential", id: "cr_1", account_id: "ac_1", revision: 1, doc };
  table.change(1, [{ kind: "credential", id: "cr_1", account_id: "ac_1", object }]);
  registry.shared?.elsewhere.follow([{ what: "edge", edgeId: "ed_2", address: "unix:nowhere" }, sessionOf("ts_2")]);
  return registry;
}

function sessionOf(id: string, accountId = "ac_1"): DirectoryNews {
  const at = { region: "", startedAt: "2023-11-14T22:13:20Z", startedMs: startedAt, transport: "ngrok/2" };
  const who = { id, accountId, credentialId: accountId === "ac_1" ? "cr_1" : "cr_other", ip: "192.0.2.1" };
  return { what: "session", edgeId: "ed_2", session: { ...who, ...at, agentVersion: "1", os: "linux", metadata: "" } };
}

/** News of a tunnel of the other edge. */
function tunnelOf(id: string, host: string, more: Partial<BindRequest> = {}, sessionId = "ts_2"): DirectoryNews {
  const accountId = sessionId === "ts_2" ? "ac_1" : "ac_other";
  const asked = JSON.stringify({ ...bindRequest, ...more });
  const endpoint = { name: host, host, port: 443, request: asked, ...(more.pools === true && { pool: "https" }) };
  const common = {
    accountId,
    forwardsTo: bindRequest.forwardsTo,
    metadata: "",
    http2: false,
    proxyProtocol: 0,
  } as const;
  return { what: "tunnel", edgeId: "ed_2", shared: { id, sessionId, startedAt, ...common, endpoint } };
}

function closed(tunnelId: string): DirectoryNews {
  return { what: "tunnel_closed", edgeId: "ed_2", tunnelId, finishes: true };
}

/** Connects a session to this edge. */
function connect(registry: AgentRegistry): AgentSession {
  const who = { token, resumes: "", agentVersion: "1", os: "linux", metadata: "", ip: "192.0.2.1" };
  const { accountId, credentialId } = registry.authenticate(who);
  const session: AgentSession = {
    id: "ts_1",
    accountId,
    credentialId,
    agentId: "",
    agentVersion: "1",
    os: "linux",
    metadata: "",
    ip: "192.0.2.1",
    startedAt,
    openStreams: 0,
    openProxy: () => undefined,
    ask: (done) => done(true),
    command: async () => undefined,
    moveAway: () => false,
    tellTimes() {},
    stopTunnel() {},
    close() {},
  };
  registry.opened(session);
  return session;
}

function bind(registry: AgentRegistry, session: AgentSession, id: string, more: Partial<BindRequest>): void {
  const progress: BindProgress = {};
  const asked: LivenessAnswers = new Map();
  const outcome = registry.bind(session, id, { ...bindRequest, ...more }, asked, progress);
  if (!("claim" in outcome)) return;
  let isClaimed = false;
  outcome.claim(() => (isClaimed = true));
  assert.ok(isClaimed);
  assert.ok("url" in registry.bind(session, id, { ...bindRequest, ...more }, asked, progress));
}

describe("tunnels of another edge", () => {
  const host = "shop.example.com";
  const pooled = { pools: true };

  it("tunnels of another edge are found by name and by id on first use, and stay the same objects", () => {
    const registry = edgeBesideOthers();
    registry.shared?.elsewhere.follow([tunnelOf("tn_1", host), tunnelOf("tn_2", "other.example.com")]);
    const site = registry.siteFor(host);
    assert.equal(site?.id, "ep_1");
    assert.equal(registry.siteFor(host), site);
    assert.equal(registry.tunnel("tn_1")?.endpoint?.site, site);
    assert.equal(registry.tunnel("tn_2")?.endpoint?.host, "other.example.com");
    assert.equal(registry.tunnel("tn_2"), registry.pool("other.example.com")[0]);
    assert.equal(registry.siteFor("nobody.example.com"), undefined);
  });

  it("tunnels of another edge have their latest version, with or without earlier visitors", () => {
    for (const comes of [false, true]) {
      const registry = edgeBesideOthers();
      registry.shared?.elsewhere.follow([tunnelOf("tn_1", host)]);
      if (comes) assert.equal(registry.tunnel("tn_1")?.endpoint?.description, "");
      registry.shared?.elsewhere.follow([tunnelOf("tn_1", host, { description: "changed" })]);
      assert.equal(registry.tunnel("tn_1")?.endpoint?.description, "changed");
      assert.equal(registry.pool(host).length, 1);
    }
  });

  it("tunnels of another edge serve a pool with those of this one, in their order of arrival", () => {
    for (const ownFirst of [false, true]) {
      const registry = edgeBesideOthers();
      const session = connect(registry);
      const own = (): void => bind(registry, session, "tn_own", { hostname: host, ...pooled });
      if (ownFirst) own();
      registry.shared?.elsewhere.follow([tunnelOf("tn_1", host, pooled), tunnelOf("tn_2", host, pooled)]);
      if (!ownFirst) own();
      const ids = registry.pool(host).map(({ id }) => id);
      assert.deepEqual(ids, ownFirst ? ["tn_own", "tn_1", "tn_2"] : ["tn_1", "tn_2", "tn_own"]);
      registry.shared?.elsewhere.follow([closed("tn_1")]);
      assert.equal(registry.pool(host).length, 2);
    }
  });

  it("tunnels of another edge share their name only while their agent requests it", () => {
    const registry = edgeBesideOthers();
    const session = connect(registry);
    const tell = (more: Partial<BindRequest>): void =>
      registry.shared?.elsewhere.follow([tunnelOf("tn_1", host, more)]);
    // If it does not share its name, its agent is first asked whether it is there.
    const own = (id: string): boolean => {
      bind(registry, session, id, { hostname: host, ...pooled });
      return registry.tunnel(id) !== undefined;
    };
    tell({});
    assert.equal(own("tn_own"), false);
    tell(pooled);
    assert.equal(own("tn_own"), true);
    registry.unbind(session, "tn_own");
    tell({});
    assert.equal(own("tn_later"), false);
  });

  it("R5: tunnels of another edge reserve their name for their account when they close, even without visitors", () => {
    const registry = edgeBesideOthers();
    const session = connect(registry);
    const follow = registry.shared?.elsewhere.follow;
    follow?.([sessionOf("ts_3", "ac_other"), tunnelOf("tn_1", host, {}, "ts_3"), closed("tn_1")]);
    assert.equal(registry.siteFor(host), undefined);
    assert.throws(
      () => bind(registry, session, "tn_own", { hostname: host }),
      (error: unknown) => error instanceof Refusal && error.reason === "agent_name_taken",
    );
  });

  it("tunnels of another edge count towards the maximum of their account until they close", () => {
    const registry = edgeBesideOthers(2);
    const session = connect(registry);
    registry.shared?.elsewhere.follow([tunnelOf("tn_1", host), tunnelOf("tn_2", "other.example.com")]);
    const own = (): void => bind(registry, session, "tn_own", { hostname: "own.example.com" });
    assert.throws(own, (error: unknown) => error instanceof Refusal && error.reason === "agent_limit");
    registry.shared?.elsewhere.follow([closed("tn_2")]);
    own();
  });

  it("tunnels of another edge disappear when this edge's agent takes over their name", () => {
    const registry = edgeBesideOthers();
    registry.shared?.elsewhere.follow([tunnelOf("tn_1", host)]);
    bind(registry, connect(registry), "tn_1", { id: "tn_1", hostname: host });
    const own = registry.tunnel("tn_1");
    assert.equal(own?.isElsewhere, false);
    registry.shared?.elsewhere.follow([closed("tn_1"), { what: "session_closed", edgeId: "ed_2", sessionId: "ts_2" }]);
    assert.deepEqual([registry.tunnel("tn_1"), registry.pool(host)], [own, [own]]);
  });

  it("tunnels of another edge that this one's agent took over are served again after further news, changed or not", () => {
    for (const change of [{}, { description: "changed" }]) {
      const { description = "" } = change;
      const registry = edgeBesideOthers();
      const follow = registry.shared?.elsewhere.follow;
      follow?.([tunnelOf("tn_1", host)]);
      const former = registry.tunnel("tn_1");
      const session = connect(registry);
      bind(registry, session, "tn_1", { id: "tn_1", hostname: host });
      assert.deepEqual([former?.online, registry.tunnel("tn_1")?.isElsewhere], [false, false]);
      registry.closed(session);
      follow?.([tunnelOf("tn_1", host, change)]);
      const again = registry.tunnel("tn_1");
      assert.deepEqual(
        [again?.online, again?.endpoint?.description, registry.pool(host)],
        [true, description, [again]],
      );
      assert.notEqual(again, former);
      follow?.([closed("tn_1")]);
      assert.deepEqual([registry.tunnel("tn_1"), registry.pool(host)], [undefined, []]);
    }
  });

  it("tunnels of another edge disappear when it leaves or no longer reports them", () => {
    for (const news of [
      [{ what: "gone", edgeId: "ed_2" }],
      [{ what: "edges", edgeIds: [] }],
      [
        { what: "edge", edgeId: "ed_2", address: "unix:nowhere" },
        { what: "told", edgeId: "ed_2" },
      ],
    ] satisfies DirectoryNews[][]) {
      const registry = edgeBesideOthers(1);
      const session = connect(registry);
      registry.shared?.elsewhere.follow([tunnelOf("tn_1", host), ...news]);
      assert.deepEqual([registry.tunnel("tn_1"), registry.siteFor(host)], [undefined, undefined]);
      assert.equal(registry.shared?.elsewhere.session("ts_2"), undefined);
      bind(registry, session, "tn_own", { hostname: host });
    }
  });
});
