import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { bindRequest } from "../../../test/support/bind-request.ts";
import type { Clock } from "../../lib/clock.ts";
import { Refusal } from "../../lib/errors.ts";
import type { RefusalName } from "../../lib/errors.ts";
import { silentLog } from "../../lib/log.ts";
import { fingerprintToken, hashToken, newToken, tokenPrefixes } from "../../lib/tokens.ts";
import type { RoutingChange, AgentCommand, Upward } from "../../routing/planes/messages.ts";
import { makeRoutingTable } from "../../routing/routing-table.ts";
import type { ResourceObject } from "../../schema/object.ts";
import type { AgentSession, BindRequest } from "../../tunnel/server-hooks.ts";
import { defaultAgentLimits } from "./tunnels/agent-limits.ts";
import type { AgentLimits } from "./tunnels/agent-limits.ts";
import { makeAgentRegistry } from "./registry.ts";

const plainBind: BindRequest = {
  ...bindRequest,
  options: { Hostname: "", Auth: "", Subdomain: "", HostHeaderRewrite: false, ProxyProto: 0, Compression: null },
};

/** A clock that is advanced manually. */
function handClock(): Clock & { advance(ms: number): void } {
  let now = 1_700_000_000_000;
  const due: { at: number; run: () => void }[] = [];
  return {
    now: () => now,
    monotonic: () => now,
    after(delayMs, run) {
      const timer = { at: now + delayMs, run };
      due.push(timer);
      return { cancel: () => void due.splice(due.indexOf(timer), 1) };
    },
    every: () => ({ cancel() {} }),
    advance(ms) {
      now += ms;
      for (const timer of due.filter(({ at }) => at <= now)) {
        due.splice(due.indexOf(timer), 1);
        timer.run();
      }
    },
  };
}

/** A connected agent that records the messages to it. */
class RecordedSession implements AgentSession {
  readonly id: string;
  readonly accountId: string;
  readonly credentialId: string;
  readonly agentId: string = "";
  readonly agentVersion = "postern/1";
  readonly os = "linux";
  readonly metadata = "";
  readonly ip: string;
  readonly startedAt = 1_700_000_000_000;
  readonly openStreams = 0;
  readonly told: string[] = [];
  readonly commands: AgentCommand[] = [];
  /** The agent's answer to whether it is still there. */
  isThere = true;

  constructor(id: string, who: { accountId: string; credentialId: string }, ip = "192.0.2.1") {
    this.id = id;
    this.accountId = who.accountId;
    this.credentialId = who.credentialId;
    this.ip = ip;
  }

  openProxy(): undefined {
    this.told.push("openProxy");
    return undefined;
  }

  ask(done: (isThere: boolean) => void): void {
    this.told.push("asked");
    done(this.isThere);
  }

  async command(command: AgentCommand): Promise<string | undefined> {
    this.commands.push(command);
    return undefined;
  }

  moveAway(): boolean {
    return true;
  }

  tellTimes(): void {}

  stopTunnel(tunnelId: string, _message: string, reason: string): void {
    this.told.push(`stop ${tunnelId} ${reason}`);
  }

  close(reason: string): void {
    this.told.push(`close: ${reason}`);
  }
}

function platform(limits: Partial<AgentLimits> = {}) {
  const clock = handClock();
  const table = makeRoutingTable(clock);
  const reports: Upward[] = [];
  const registry = makeAgentRegistry({
    table,
    report: (message) => reports.push(message),
    domain: "tunnels.example",
    advertisedHttpsPort: () => 443,
    advertisedHttpPort: () => 80,
    region: "",
    clock,
    log: silentLog,
    limits: { ...defaultAgentLimits, ...limits },
  });
  let revision = 0;
  const commit = (...objects: (ResourceObject | { kind: string; id: string; account_id: string })[]): void => {
    revision += 1;
    const changes: RoutingChange[] = objects.map((object) => ({
      kind: object.kind,
      id: object.id,
      account_id: object.account_id,
      object: "doc" in object ? { ...object, revision } : null,
    }));
    table.change(revision, changes);
  };
  const credential = (id: string, accountId: string, token: string, more: Record<string, unknown> = {}) => ({
    kind: "credential",
    id,
    account_id: accountId,
    revision: 0,
    doc: {
      fingerprint: fingerprintToken(token),
      token_hash: hashToken(token).toString("hex"),
      acl: [],
      owner_id: null,
      ...more,
    },
  });
  let sessions = 0;
  const connect = (token: string, ip = "192.0.2.1"): RecordedSession => {
    const who = registry.authenticate({ token, resumes: "", agentVersion: "postern/1", os: "linux", metadata: "", ip });
    sessions += 1;
    const session = new RecordedSession(`ts_${sessions}`, who, ip);
    registry.opened(session);
    return session;
  };
  let tunnels = 0;
  const bind = (session: AgentSession, request: Partial<BindRequest> = {}) => {
    tunnels += 1;
    const id = request.id ?? `tn_${tunnels}`;
    const asked = new Map<AgentSession, boolean>();
    for (;;) {
      const outcome = registry.bind(session, id, { ...plainBind, ...request }, asked);
      assert.ok(!("claim" in outcome));
      if (!("ask" in outcome)) return { id, ...outcome };
      const { ask } = outcome;
      assert.equal(asked.has(ask), false, "it was asked already");
      ask.ask((isThere) => asked.set(ask, isThere));
    }
  };
  return { clock, table, reports, registry, commit, credential, connect, bind };
}

function refused(reason: RefusalName): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof Refusal, String(error));
    assert.equal(error.reason, reason, error.message);
    return true;
  };
}

function edge(id: string, accountId: string, ...hostports: string[]): ResourceObject {
  return { kind: "https_edge", id, account_id: accountId, revision: 0, doc: { hostports } };
}

function reserved(id: string, accountId: string, domain: string): ResourceObject {
  return { kind: "reserved_domain", id, account_id: accountId, revision: 0, doc: { domain } };
}

function one() {
  const p = platform();
  const token = newToken(tokenPrefixes.agent);
  p.commit(p.credential("cr_1", "ac_1", token));
  return { ...p, token };
}

describe("agents' tokens", () => {
  it("K5: the register of agents opens a session only for a known token", () => {
    const { registry, connect, token, commit, credential } = one();
    const session = connect(token);
    assert.equal(session.accountId, "ac_1");
    assert.equal(session.credentialId, "cr_1");
    const other = newToken(tokenPrefixes.agent);
    const forged = token.slice(0, 30) + other.slice(30);
    for (const bad of [other, forged, "", "x".repeat(10_000), "garbage"]) {
      assert.throws(() => connect(bad), refused("agent_token_unknown"));
    }
    assert.throws(() => connect(newToken(tokenPrefixes.apiKey)), refused("agent_api_key"));
    commit(credential("cr_2", "ac_1", other, { owner_id: "bot_gone" }));
    assert.throws(() => connect(other), refused("agent_token_unknown"));
    assert.equal(registry.snapshot().length, 1);
  });

  it("a session cannot be resumed with another credential", () => {
    const { registry, connect, token, commit, credential } = one();
    const session = connect(token);
    const other = newToken(tokenPrefixes.agent);
    commit(credential("cr_2", "ac_1", other));
    const request = { resumes: session.id, agentVersion: "", os: "", metadata: "", ip: "192.0.2.1" };
    assert.throws(() => registry.authenticate({ ...request, token: other }), refused("agent_token_unknown"));
    assert.equal(registry.authenticate({ ...request, token }).credentialId, "cr_1");
  });

  it("K5: the register of agents closes sessions of a credential that is deleted, replaced or has a disabled owner", () => {
    const bot = (active: boolean) => ({
      kind: "bot_user",
      id: "bot_1",
      account_id: "ac_1",
      revision: 0,
      doc: { active },
    });
    const ways: Record<string, (p: ReturnType<typeof platform>, token: string) => void> = {
      deleted: (p) => p.commit({ kind: "credential", id: "cr_1", account_id: "ac_1" }),
      replaced: (p) => p.commit(p.credential("cr_1", "ac_1", newToken(tokenPrefixes.agent), { owner_id: "bot_1" })),
      "switched off": (p) => p.commit(bot(false)),
      "gone with a restart of the control plane": (p) => void p.table.load(90, []),
    };
    for (const [way, change] of Object.entries(ways)) {
      const p = platform();
      const token = newToken(tokenPrefixes.agent);
      p.commit(bot(true), p.credential("cr_1", "ac_1", token, { owner_id: "bot_1" }));
      const session = p.connect(token);
      const { hostname } = p.bind(session);
      change(p, token);
      assert.deepEqual(session.told, ["close: the agent token was revoked"], way);
      assert.equal(p.registry.siteFor(hostname), undefined, way);
      assert.deepEqual(p.registry.snapshot(), [], way);
      assert.throws(() => p.bind(session), refused("agent_token_unknown"), way);
      p.registry.closed(session);
      assert.equal(p.reports.filter(({ type }) => type === "session_closed").length, 1, way);
    }
  });

  it("K5: an expired token opens no session, and its open sessions end within a second", () => {
    const p = platform();
    const token = newToken(tokenPrefixes.agent);
    const expires_at = new Date(p.clock.now() + 90_000).toISOString();
    p.commit(p.credential("cr_1", "ac_1", token, { expires_at }));
    const session = p.connect(token);
    const { hostname } = p.bind(session);
    p.clock.advance(89_000);
    assert.notEqual(p.registry.siteFor(hostname), undefined);
    p.connect(token);
    p.clock.advance(2_000);
    assert.deepEqual(session.told.slice(-1), ["close: the agent token has expired"]);
    assert.equal(p.registry.siteFor(hostname), undefined);
    assert.deepEqual(p.registry.snapshot(), []);
    assert.throws(() => p.connect(token), refused("agent_token_unknown"));
  });

  it("K5: a token that gets an expiry later, as in a rotation, ends its open sessions within a second of it", () => {
    const p = platform();
    const token = newToken(tokenPrefixes.agent);
    p.commit(p.credential("cr_1", "ac_1", token, {}));
    const session = p.connect(token);
    const { hostname } = p.bind(session);
    const expires_at = new Date(p.clock.now() + 90_000).toISOString();
    p.commit(p.credential("cr_1", "ac_1", token, { expires_at }));
    p.clock.advance(89_000);
    assert.notEqual(p.registry.siteFor(hostname), undefined);
    p.clock.advance(2_000);
    assert.deepEqual(session.told.slice(-1), ["close: the agent token has expired"]);
  });

  it("the register of agents keeps sessions open after any other change of their credential", () => {
    const { commit, credential, connect, bind, token, registry } = one();
    const session = connect(token);
    const { hostname } = bind(session);
    commit(credential("cr_1", "ac_1", token, { description: "changed" }));
    assert.deepEqual(session.told, []);
    assert.ok(registry.siteFor(hostname));
  });

  it("G2: the register of agents stops tunnels outside of a narrowed ACL", () => {
    const { commit, credential, connect, bind, token, registry } = one();
    const session = connect(token);
    bind(session, { id: "tn_keep", hostname: "keep.example" });
    bind(session, { id: "tn_lose", hostname: "lose.example" });
    registry.label(session, "tn_label", { labels: { app: "web" }, forwardsTo: "", forwardsProto: "", metadata: "" });
    commit(credential("cr_1", "ac_1", token, { acl: ["bind:keep.example"] }));
    assert.deepEqual(session.told, ["stop tn_lose agent_denied", "stop tn_label agent_denied"]);
    assert.ok(registry.siteFor("keep.example"));
    assert.equal(registry.siteFor("lose.example"), undefined);
    assert.equal(registry.tunnel("tn_label"), undefined);
  });
});

describe("the names of endpoints", () => {
  it("the names of endpoints are the requested host names or subdomains", () => {
    const { connect, bind, token, registry } = one();
    const session = connect(token);
    assert.equal(bind(session, { hostname: "Shop.Example" }).url, "https://shop.example");
    assert.equal(bind(session, { subdomain: "blue" }).url, "https://blue.tunnels.example");
    const site = registry.siteFor("shop.example");
    assert.equal(site?.kind, "endpoint");
    assert.equal(site.accountId, "ac_1");
    assert.deepEqual(site.findRoute("/any/path", "h")?.upstream, { kind: "tunnel", id: "tn_1" });
    for (const hostname of ["a b", "-a.example", "192.0.2.7", "x".repeat(300), "a.example:443"]) {
      assert.throws(() => bind(session, { hostname }), refused("agent_request_invalid"));
    }
    assert.throws(() => bind(session, { hostname: "tunnels.example" }), refused("agent_name_taken"));
    assert.throws(() => bind(session, { hostname: "*.tunnels.example" }), refused("agent_name_taken"));
  });

  it("the names of endpoints are generated by default, and are the same after a restart of agent or server", () => {
    const { connect, bind, token, registry } = one();
    const session = connect(token);
    const first = bind(session);
    const second = bind(session);
    assert.match(first.hostname, /^[a-z]+-[a-z]+-[0-9a-z]{6}\.tunnels\.example$/);
    assert.notEqual(first.hostname, second.hostname);
    registry.closed(session);
    assert.equal(bind(connect(token)).hostname, first.hostname);
    const again = one();
    again.commit(again.credential("cr_9", "ac_1", token));
    assert.equal(again.bind(again.connect(token)).hostname, first.hostname);
  });

  it("the names of endpoints move to a restarted agent whose old session only seems alive", () => {
    const { connect, bind, token, registry } = one();
    const old = connect(token);
    const { hostname } = bind(old);
    const fresh = connect(token);
    old.isThere = false;
    assert.equal(bind(fresh, { id: "tn_new" }).hostname, hostname);
    assert.deepEqual(old.told, ["asked", "stop tn_1 agent_name_taken"]);
    assert.equal(registry.siteFor(hostname)?.findRoute("/", "h")?.id, "ep_new");
    // The end of the old session must not affect the new one.
    registry.unbind(old, "tn_1");
    registry.closed(old);
    assert.ok(registry.siteFor(hostname));
  });

  it("the names of endpoints do not move from a different agent or another listener in the same process", () => {
    const { connect, bind, token } = one();
    const here = connect(token, "192.0.2.1");
    const there = connect(token, "192.0.2.2");
    assert.notEqual(bind(here).hostname, bind(there).hostname);
    const again = connect(token, "192.0.2.1");
    const app = { forwardsTo: "app://host/node?pid=7" };
    assert.notEqual(bind(here, app).hostname, bind(again, app).hostname);
    assert.deepEqual(here.told, []);
  });

  it("the names of endpoints are the next generated ones if another agent of the credential serves the same target", () => {
    const { connect, bind, token } = one();
    const old = connect(token);
    const { hostname } = bind(old);
    assert.notEqual(bind(connect(token), { id: "tn_new" }).hostname, hostname);
    assert.deepEqual(old.told, ["asked"]);
  });

  it("the names of endpoints stay with a connected agent, whose details the other agent receives", () => {
    const { connect, bind, token, registry } = one();
    const old = connect(token);
    bind(old, { id: "tn_old", hostname: "mine.example" });
    const fresh = connect(token, "192.0.2.99");
    assert.throws(
      () => bind(fresh, { id: "tn_new", hostname: "mine.example" }),
      (error: Error) => {
        assert.ok(refused("agent_name_taken")(error));
        assert.match(error.message, /"mine\.example": the tunnel session "ts_1" \(.*192\.0\.2\.1, since 2023-/);
        return true;
      },
    );
    assert.equal(registry.tunnel("tn_old")?.session, old);
    // A bind with the tunnel's own id, which the protocol has verified, comes from the same agent.
    bind(fresh, { id: "tn_old", hostname: "mine.example" });
    assert.deepEqual(old.told, ["asked"]);
    assert.equal(registry.tunnel("tn_old")?.session, fresh);
  });

  it("the names of endpoints move to the credential's other agent if their holder is silent", () => {
    const { connect, bind, token, registry } = one();
    const old = connect(token);
    bind(old, { id: "tn_old", hostname: "mine.example" });
    const fresh = connect(token, "192.0.2.99");
    old.isThere = false;
    bind(fresh, { id: "tn_new", hostname: "mine.example" });
    assert.deepEqual(old.told, ["asked", "stop tn_old agent_name_taken"]);
    assert.equal(registry.tunnel("tn_old"), undefined);
    assert.equal(registry.tunnel("tn_new")?.session, fresh);
    assert.throws(() => bind(fresh, { hostname: "mine.example" }), refused("agent_name_taken"));
  });

  it("R5: the names of endpoints are refused to every other credential, without information about other accounts", () => {
    const { connect, bind, token, commit, credential, clock, registry } = one();
    const sibling = newToken(tokenPrefixes.agent);
    const stranger = newToken(tokenPrefixes.agent);
    commit(credential("cr_2", "ac_1", sibling), credential("cr_3", "ac_3", stranger));
    const owner = connect(token);
    bind(owner, { id: "tn_owner", hostname: "mine.example" });
    const error = (session: AgentSession): string => {
      try {
        bind(session, { hostname: "mine.example" });
      } catch (caught) {
        assert.ok(refused("agent_name_taken")(caught));
        return (caught as Refusal).message;
      }
      return assert.fail("the name was given away");
    };
    assert.match(error(connect(sibling)), /ts_1/);
    const other = connect(stranger);
    assert.equal(error(other), 'publish "mine.example": it is not available');
    // The account keeps the name during a short absence, and loses it after a long one.
    registry.closed(owner);
    assert.equal(error(other), 'publish "mine.example": it is not available');
    bind(connect(sibling), { id: "tn_sibling", hostname: "mine.example" });
    registry.unbind(registry.tunnel("tn_sibling")?.session as AgentSession, "tn_sibling");
    clock.advance(600_001);
    assert.equal(bind(other, { hostname: "mine.example" }).url, "https://mine.example");
  });

  it("R5: the names of endpoints belong to one account for http:// and https://, which may have both", () => {
    const { connect, bind, token, commit, credential, clock, registry } = one();
    const strange = newToken(tokenPrefixes.agent);
    commit(credential("cr_3", "ac_3", strange));
    const [owner, stranger] = [connect(token), connect(strange)];
    const hostname = "mine.example";
    const plain = bind(owner, { id: "tn_plain", proto: "http", hostname });
    assert.equal(plain.url, "http://mine.example");
    assert.equal(registry.siteFor(hostname), undefined);
    assert.throws(() => bind(stranger, { proto: "https", hostname }), refused("agent_name_taken"));
    assert.equal(bind(owner, { id: "tn_secure", proto: "https", hostname }).url, "https://mine.example");
    assert.deepEqual([registry.siteFor(hostname)?.id, registry.plainSiteFor(hostname)?.id], ["ep_secure", "ep_plain"]);
    assert.throws(() => bind(owner, { id: "tn_more", proto: "http", hostname }), refused("agent_name_taken"));
    registry.unbind(owner, "tn_plain");
    assert.deepEqual([registry.siteFor(hostname)?.id, registry.plainSiteFor(hostname)], ["ep_secure", undefined]);
    assert.throws(() => bind(stranger, { proto: "http", hostname }), refused("agent_name_taken"));
    registry.closed(owner);
    assert.throws(() => bind(stranger, { proto: "http", hostname }), refused("agent_name_taken"));
    clock.advance(600_001);
    assert.equal(bind(stranger, { proto: "http", hostname }).url, "http://mine.example");
  });

  it("R5: the names of endpoints are never the server's own, including the host to which logins return", () => {
    const { connect, bind, token } = one();
    const session = connect(token);
    for (const hostname of ["tunnels.example", "IDP.tunnels.example", "a.idp.tunnels.example"]) {
      assert.throws(() => bind(session, { hostname }), refused("agent_name_taken"), hostname);
    }
    assert.throws(() => bind(session, { subdomain: "idp" }), refused("agent_name_taken"));
    assert.equal(bind(session, { hostname: "idp2.tunnels.example" }).hostname, "idp2.tunnels.example");
  });

  it("R5: the names of endpoints move to edges and to other accounts' reservations", () => {
    const { connect, bind, token, commit, clock } = one();
    commit(
      edge("edghts_1", "ac_1", "edge.example:443"),
      edge("edghts_2", "ac_2", "theirs.example:443", "*.wild.example:443"),
      reserved("rd_1", "ac_1", "reserved.example"),
      reserved("rd_2", "ac_2", "kept.example"),
    );
    const session = connect(token);
    for (const hostname of ["edge.example", "theirs.example", "kept.example", "a.wild.example"]) {
      assert.throws(() => bind(session, { hostname }), refused("agent_name_taken"), hostname);
    }
    assert.equal(bind(session, { hostname: "reserved.example" }).url, "https://reserved.example");
    bind(session, { id: "tn_late", hostname: "late.example" });
    bind(session, { id: "tn_stay", hostname: "stay.later.example" });
    commit(edge("edghts_3", "ac_2", "late.example:443", "*.later.example:443"));
    clock.advance(1000);
    assert.deepEqual(session.told, ["stop tn_late agent_name_taken"]);
  });

  it("G2: the names of endpoints respect the ACL, including generated ones", () => {
    const { connect, bind, token, commit, credential, registry } = one();
    commit(credential("cr_1", "ac_1", token, { acl: ["bind:*.dev.example", "bind:app=web"] }));
    const session = connect(token);
    assert.equal(bind(session, { hostname: "a.dev.example" }).hostname, "a.dev.example");
    assert.throws(() => bind(session, { hostname: "a.prod.example" }), refused("agent_denied"));
    assert.throws(() => bind(session), refused("agent_denied"));
    const label = { forwardsTo: "", forwardsProto: "" as const, metadata: "" };
    registry.label(session, "tn_a", { ...label, labels: { app: "web" } });
    assert.throws(
      () => registry.label(session, "tn_b", { ...label, labels: { app: "web", dc: "eu" } }),
      refused("agent_denied"),
    );
  });
});

describe("tunnels", () => {
  it("tunnels keep their id over a reconnect, and other agents cannot use it", () => {
    const { connect, bind, token, commit, credential, registry } = one();
    const old = connect(token);
    const { hostname } = bind(old, { id: "tn_same" });
    const fresh = connect(token);
    bind(fresh, { id: "tn_same", hostname });
    assert.equal(registry.tunnel("tn_same")?.session, fresh);
    assert.deepEqual(old.told, []);
    registry.closed(old);
    assert.ok(registry.siteFor(hostname));
    const other = newToken(tokenPrefixes.agent);
    commit(credential("cr_2", "ac_2", other));
    assert.throws(() => bind(connect(other), { id: "tn_same" }), refused("agent_request_invalid"));
    registry.unbind(old, "tn_same");
    assert.ok(registry.tunnel("tn_same"));
  });

  it("tunnels with unsupported options are refused", () => {
    const { connect, bind, token } = one();
    const session = connect(token);
    const bad: Partial<BindRequest>[] = [
      { proto: "tcp" },
      { proto: "tls", options: { Compression: {} } },
      { options: { SAML: { idp_metadata: "<EntityDescriptor/>", entity_id: "https://id.example" } } },
      { options: { Auth: "user:password" } },
      { options: { HostHeaderRewrite: true } },
      { options: { constructor: { a: 1 } } },
    ];
    for (const request of bad) assert.throws(() => bind(session, request), refused("agent_option_unsupported"));
    assert.throws(() => bind(session, { metadata: "é".repeat(2049) }), refused("agent_request_invalid"));
  });

  it("D9, G1: tunnels are limited in number, and labels in number and size", () => {
    const p = platform({ tunnelsPerSession: 2, tunnelsPerAccount: 3, sessionsPerAccount: 2 });
    const token = newToken(tokenPrefixes.agent);
    p.commit(p.credential("cr_1", "ac_1", token));
    const first = p.connect(token);
    const second = p.connect(token, "192.0.2.2");
    assert.throws(() => p.connect(token), refused("agent_limit"));
    p.bind(first);
    p.bind(first, { id: "tn_b", subdomain: "b" });
    assert.throws(() => p.bind(first), refused("agent_limit"));
    p.bind(first, { id: "tn_b", subdomain: "b" });
    p.bind(second);
    assert.throws(() => p.bind(second), refused("agent_limit"));
    p.registry.unbind(first, "tn_b");
    p.bind(second);
    p.registry.closed(first);
    const third = p.connect(token);
    const plain = { forwardsTo: "", forwardsProto: "" as const, metadata: "" };
    const many = Object.fromEntries(Array.from({ length: 33 }, (_, index) => [`l${index}`, "x"]));
    for (const labels of [{}, many, { "": "x" }, { a: "" }, { "a=b": "c" }, { a: "é".repeat(128) }]) {
      assert.throws(() => p.registry.label(third, "tn_l", { ...plain, labels }), refused("labels_invalid"));
    }
  });

  it("tunnels match the labels of a backend, within the account, as they open and close", () => {
    const { connect, token, commit, credential, registry } = one();
    const other = newToken(tokenPrefixes.agent);
    commit(credential("cr_2", "ac_2", other));
    const plain = { forwardsTo: "", forwardsProto: "" as const, metadata: "" };
    const session = connect(token);
    const plan = (labels: Record<string, string>) =>
      ({ kind: "tunnel_group", id: "bkdtg_1", revision: 1, accountId: "ac_1", labels }) as const;
    const web = plan({ app: "web" });
    const members = (of: typeof web): string[] => registry.group(of).members.map(({ id }) => id);
    registry.label(session, "tn_1", { ...plain, labels: { app: "web", dc: "eu" } });
    assert.deepEqual(members(web), ["tn_1"]);
    registry.label(session, "tn_2", { ...plain, labels: { dc: "us", app: "web" } });
    registry.label(connect(other), "tn_x", { ...plain, labels: { app: "web", dc: "eu" } });
    registry.label(session, "tn_3", { ...plain, labels: { app: "api", dc: "eu" } });
    assert.deepEqual(members(web), ["tn_1", "tn_2"]);
    assert.deepEqual(members(plan({ dc: "eu" })), ["tn_1", "tn_3"]);
    assert.deepEqual(members(plan({ dc: "eu", app: "web" })), ["tn_1"]);
    assert.deepEqual(members(plan({ app: "none" })), []);
    assert.deepEqual(members(plan({})), []);
    registry.unbind(session, "tn_1");
    assert.deepEqual(members(web), ["tn_2"]);
    registry.closed(session);
    assert.deepEqual(members(web), []);
    for (let count = 0; count < 2500; count += 1) registry.group(plan({ app: `a${count}` }));
    registry.label(connect(token), "tn_4", { ...plain, labels: { app: "web" } });
    assert.deepEqual(members(web), ["tn_4"]);
  });

  it("tunnels are reported when they open and close, and all of them on request", () => {
    const { connect, bind, token, registry, reports } = one();
    const session = connect(token);
    const { hostname } = bind(session, { id: "tn_a1", metadata: "m" });
    registry.label(session, "tn_b1", { labels: { app: "web" }, forwardsTo: "f", forwardsProto: "", metadata: "" });
    const opened = reports.splice(0);
    assert.deepEqual(
      opened.map(({ type }) => type),
      ["session_opened", "tunnel_opened", "tunnel_opened"],
    );
    assert.deepEqual(registry.snapshot(), opened);
    assert.deepEqual(opened[1], {
      type: "tunnel_opened",
      tunnel: {
        id: "tn_a1",
        accountId: "ac_1",
        sessionId: "ts_1",
        credentialId: "cr_1",
        startedAt: "2023-11-14T22:13:20Z",
        metadata: "m",
        forwardsTo: "http://localhost:3000",
        region: "",
        endpoint: { id: "ep_a1", proto: "https", publicUrl: `https://${hostname}`, name: "", description: "" },
      },
    });
    const gone: string[] = [];
    registry.onTunnelClosed(({ id, online }) => gone.push(`${id} ${online}`));
    registry.unbind(session, "tn_a1");
    registry.unbind(session, "tn_a1");
    registry.closed(session);
    assert.deepEqual(gone, ["tn_a1 false", "tn_b1 false"]);
    assert.deepEqual(
      reports.map((report) => Object.values(report).join(" ")),
      ["tunnel_closed tn_a1", "tunnel_closed tn_b1", "session_closed ts_1"],
    );
  });

  it("tunnels of a session that takes over an id replace those of the earlier session", () => {
    const { connect, bind, token, registry, reports } = one();
    const old = connect(token);
    bind(old, { id: "tn_old", subdomain: "old" });
    const fresh = new RecordedSession(old.id, old);
    registry.opened(fresh);
    bind(fresh, { id: "tn_old", subdomain: "old" });
    registry.closed(old);
    assert.deepEqual(
      reports.map(({ type }) => type),
      ["session_opened", "tunnel_opened", "tunnel_closed", "session_closed", "session_opened", "tunnel_opened"],
    );
    assert.equal(registry.tunnel("tn_old")?.session, fresh);
  });

  it("tunnels pass commands to their session, with an error if it is not here", async () => {
    const { connect, token, registry } = one();
    const session = connect(token);
    await registry.command(session.id, { name: "stop" });
    assert.deepEqual(session.commands, [{ name: "stop" }]);
    await assert.rejects(registry.command("ts_none", { name: "stop" }), refused("not_found"));
  });

  it("G1: tunnels have a limited number of pending questions to their agents, and any number of commands", async () => {
    const { connect, token, registry } = one();
    const session = connect(token);
    const question = { name: "exchange", requestId: "req_1", tunnelId: "tn_1", exchangeId: "" } as const;
    const all = Array.from({ length: defaultAgentLimits.exchangesPerAccount }, () =>
      registry.command(session.id, question),
    );
    await assert.rejects(registry.command(session.id, question), refused("exchange_busy"));
    await registry.command(session.id, { name: "stop" });
    await Promise.all(all);
    await registry.command(session.id, question);
  });

  it("D9: a large policy is compiled first, and later changes of its tunnel take effect afterwards", async () => {
    const { connect, token, registry, bind } = one();
    const session = connect(token);
    const { id } = bind(session);
    const policy = (name: string, rules: number) =>
      JSON.stringify({
        on_http_request: Array.from({ length: rules }, () => ({ name, actions: [{ type: "deny", config: {} }] })),
      });
    const order: string[] = [];
    const change = (name: string, rules: number): Promise<void> => {
      const progress = {};
      return new Promise((changed) => {
        const attempt = (): void => {
          const waits = registry.patch(session, id, { trafficPolicy: policy(name, rules) }, progress);
          if (waits) return waits.claim(attempt);
          order.push(name);
          changed();
        };
        attempt();
      });
    };
    const changes = [change("large", 60), change("small", 1)];
    assert.deepEqual(order, [], "neither was compiled in this turn");
    await Promise.all(changes);
    assert.deepEqual(order, ["large", "small"]);
  });
});
