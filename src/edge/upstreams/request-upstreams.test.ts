import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { after, before, describe, it } from "node:test";
import { discardingReceiver } from "../../lib/io/byte-stream.ts";
import type { ByteStream } from "../../lib/io/byte-stream.ts";
import { systemClock } from "../../lib/clock.ts";
import { silentLog } from "../../lib/log.ts";
import { socketStream } from "../../lib/io/socket-stream.ts";
import { fingerprintToken, hashToken, newToken, tokenPrefixes } from "../../lib/tokens.ts";
import type { Exchange } from "../../traffic/exchange.ts";
import type { Step } from "../../traffic/step.ts";
import type { UpstreamPlan } from "../../traffic/upstream-plan.ts";
import { makeRoutingTable } from "../../routing/routing-table.ts";
import { bindRequest } from "../../../test/support/bind-request.ts";
import type { AgentSession, ProxyHeader } from "../../tunnel/server-hooks.ts";
import { defaultLimits } from "../http/http-context.ts";
import { Deadlines } from "../../lib/deadlines.ts";
import type { UpstreamConnection } from "./upstream-connection.ts";
import type { UpstreamUser } from "./upstream-user.ts";
import { UpstreamPool } from "./upstream-pool.ts";
import { defaultAgentLimits } from "../agents/tunnels/agent-limits.ts";
import { makeAgentRegistry } from "../agents/registry.ts";
import { makeRequestUpstreams } from "./request-upstreams.ts";

const service = createServer((socket) => socket.on("error", () => {}));
let port = 0;
before(async () => {
  service.listen(0, "127.0.0.1");
  await once(service, "listening");
  port = (service.address() as AddressInfo).port;
});
const stops: (() => void)[] = [];
after(() => {
  for (const stop of stops) stop();
  service.close();
});

/** A session whose proxied streams are TCP connections to the service. */
class TcpSession implements AgentSession {
  readonly id: string;
  readonly accountId = "ac_1";
  readonly credentialId = "cr_1";
  readonly agentId: string = "";
  readonly agentVersion = "";
  readonly os = "";
  readonly metadata = "";
  readonly ip = "192.0.2.1";
  readonly startedAt = 0;
  readonly headers: ProxyHeader[] = [];
  openStreams = 0;
  refuses = false;

  constructor(id: string) {
    this.id = id;
  }

  openProxy(header: ProxyHeader, take: (stream: ByteStream | undefined) => void): undefined {
    this.headers.push(header);
    if (this.refuses) {
      take(undefined);
      return undefined;
    }
    const socket: Socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    this.openStreams += 1;
    socket.on("close", () => (this.openStreams -= 1));
    socket.once("connect", () => take(socketStream(socket, discardingReceiver)));
    return undefined;
  }

  command(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  ask(): void {}

  moveAway(): boolean {
    return true;
  }

  tellTimes(): void {}

  stopTunnel(): void {}

  close(): void {}
}

function platform() {
  const token = newToken(tokenPrefixes.agent);
  const table = makeRoutingTable(systemClock);
  const doc = {
    fingerprint: fingerprintToken(token),
    token_hash: hashToken(token).toString("hex"),
    acl: [],
    owner_id: null,
  };
  table.load(1, [{ kind: "credential", id: "cr_1", account_id: "ac_1", revision: 1, doc }]);
  const registry = makeAgentRegistry({
    table,
    report: () => {},
    domain: "example.com",
    advertisedHttpsPort: () => 443,
    region: "",
    clock: systemClock,
    log: silentLog,
    limits: defaultAgentLimits,
  });
  const deadlines = new Deadlines(systemClock);
  stops.push(() => deadlines.stop());
  const upstreams = makeRequestUpstreams({
    registry,
    context: { clock: systemClock, deadlines, limits: defaultLimits, log: silentLog },
    dial: { clock: systemClock, allowLocal: true },
  });
  let count = 0;
  const session = (): TcpSession => {
    count += 1;
    registry.authenticate({ token, resumes: "", agentVersion: "", os: "", metadata: "", ip: "192.0.2.1" });
    const opened = new TcpSession(`ts_${count}`);
    registry.opened(opened);
    stops.push(() => registry.closed(opened));
    return opened;
  };
  const label = (on: TcpSession, id: string, labels: Record<string, string>): void =>
    registry.label(on, id, { labels, forwardsTo: "", forwardsProto: "", metadata: "" });
  return { registry, upstreams, session, label };
}

function exchange(): Exchange & { steps: Step[] } {
  return { id: "req_1", steps: [], connection: { source: "2001:db8::7", sourcePort: 4711 } } as unknown as Exchange & {
    steps: Step[];
  };
}

/** Uses a stream of the pool until the returned function is called. */
async function hold(pool: UpstreamPool): Promise<() => void> {
  const ready = Promise.withResolvers<UpstreamConnection>();
  const user = {
    exchange: exchange(),
    upstreamReady: (connection: UpstreamConnection) => ready.resolve(connection),
    upstreamFailed: (reason: string) => ready.reject(new Error(reason)),
  } as unknown as UpstreamUser;
  pool.request(user);
  const connection = await ready.promise;
  return () => pool.release(connection);
}

function group(labels: Record<string, string>): UpstreamPlan {
  return { kind: "tunnel_group", id: "bkdtg_1", revision: 1, accountId: "ac_1", labels };
}

function fixed(status: number): UpstreamPlan {
  return { kind: "http_response", id: `bkdhr_${status}`, revision: 1, status, headers: { "x-a": "b" }, body: "fixed" };
}

describe("choosing an upstream", () => {
  it("the choice of an upstream names the client, the kind of edge and the tunnel to the agent", async () => {
    const { upstreams, session, label, registry } = platform();
    const agent = session();
    label(agent, "tn_1", { app: "web" });
    const seen = exchange();
    const pool = upstreams.choose(group({ app: "web" }), seen, []);
    assert.ok(pool instanceof UpstreamPool);
    assert.equal(seen.steps.length, 1);
    assert.match(seen.steps[0]?.reason ?? "", /tn_1/);
    const release = await hold(pool);
    const header = { tunnelId: "tn_1", clientAddress: "[2001:db8::7]:4711", proto: "https", passthroughTls: false };
    assert.deepEqual(agent.headers, [{ ...header, edgeType: "https_edge" }]);
    release();
    const request = { ...bindRequest, hostname: "a.example", forwardsTo: "" };
    registry.bind(agent, "tn_2", request, new Map());
    const plan = registry.siteFor("a.example")?.findRoute("/", "h")?.upstream;
    assert.ok(plan);
    const own = upstreams.choose(plan, exchange(), []);
    assert.ok(own instanceof UpstreamPool);
    (await hold(own))();
    assert.equal(agent.headers.at(-1)?.edgeType, "endpoint");
  });

  it("the choice of an upstream prefers the untried tunnel with the fewest requests and fails if none is left", async () => {
    const { upstreams, session, label, registry } = platform();
    const [one, two] = [session(), session()];
    label(one, "tn_1", { app: "web" });
    label(two, "tn_2", { app: "web" });
    const plan = group({ app: "web" });
    const choose = (tried: UpstreamPool[] = []) => upstreams.choose(plan, exchange(), tried);
    const first = choose();
    assert.ok(first instanceof UpstreamPool);
    const release = await hold(first);
    for (let count = 0; count < 5; count += 1) assert.notEqual(choose(), first);
    release();
    const seen = new Set(Array.from({ length: 4 }, () => choose()));
    assert.equal(seen.size, 2);
    const [a, b] = [...seen] as UpstreamPool[];
    assert.equal(choose([a as UpstreamPool]), b);
    assert.deepEqual(choose([a as UpstreamPool, b as UpstreamPool]), { error: "tunnel_gone" });
    registry.closed(one);
    registry.closed(two);
    assert.deepEqual(choose(), { error: "backend_empty" });
    assert.deepEqual(upstreams.choose({ kind: "tunnel", id: "tn_1" }, exchange(), []), { error: "tunnel_gone" });
  });

  it("the choice of an upstream finds the tunnel that replaces the one for which a request waits", async () => {
    const { upstreams, session, label } = platform();
    const [silent, again] = [session(), session()];
    silent.openProxy = () => undefined;
    label(silent, "tn_1", { app: "web" });
    const plan = group({ app: "web" });
    const pool = upstreams.choose(plan, exchange(), []);
    assert.ok(pool instanceof UpstreamPool);
    const failed = Promise.withResolvers<unknown>();
    pool.request({
      exchange: exchange(),
      upstreamFailed: () => failed.resolve(upstreams.choose(plan, exchange(), [pool])),
    } as unknown as UpstreamUser);
    label(again, "tn_1", { app: "web" });
    assert.ok((await failed.promise) instanceof UpstreamPool);
  });

  it("the choice of an upstream closes the streams of a tunnel that closes", async () => {
    const { upstreams, session, label, registry } = platform();
    const agent = session();
    label(agent, "tn_1", { app: "web" });
    const pool = upstreams.choose(group({ app: "web" }), exchange(), []);
    assert.ok(pool instanceof UpstreamPool);
    (await hold(pool))();
    assert.equal(agent.openStreams, 1);
    registry.unbind(agent, "tn_1");
    while (agent.openStreams > 0) await new Promise(setImmediate);
    await assert.rejects(hold(pool), /tunnel_gone/);
  });

  it("R3: the choice of an upstream makes room in a crowded session by closing idle streams", async () => {
    const { upstreams, session, label } = platform();
    const agent = session();
    for (let tunnel = 0; tunnel < 12; tunnel += 1) label(agent, `tn_${tunnel}`, { tunnel: String(tunnel) });
    for (let tunnel = 0; tunnel < 12; tunnel += 1) {
      const pool = upstreams.choose(group({ tunnel: String(tunnel) }), exchange(), []);
      assert.ok(pool instanceof UpstreamPool);
      const releases = await Promise.all(Array.from({ length: 30 }, () => hold(pool)));
      for (const release of releases) release();
    }
    while (agent.openStreams > 230) await new Promise(setImmediate);
    assert.equal(agent.headers.length, 12 * 30);
  });

  it("the choice of an upstream tries a failover's members in order, including a fixed response", () => {
    const { upstreams, session, label } = platform();
    const choose = (...members: UpstreamPlan[]) =>
      upstreams.choose({ kind: "failover", id: "bkdfo_1", revision: 1, members }, exchange(), []);
    assert.deepEqual(choose(group({ app: "web" }), fixed(418)), {
      status: 418,
      headers: { "x-a": "b" },
      body: "fixed",
    });
    assert.deepEqual(choose(group({ app: "web" })), { error: "backend_empty" });
    assert.deepEqual(choose(), { error: "backend_empty" });
    label(session(), "tn_1", { app: "web" });
    assert.ok(choose(group({ app: "web" }), fixed(418)) instanceof UpstreamPool);
  });

  it("the choice of an upstream follows weights exactly, gives nothing to weight 0 and skips members without an upstream", () => {
    const { upstreams } = platform();
    const weighted = (...weights: [UpstreamPlan, number][]): UpstreamPlan => ({
      kind: "weighted",
      id: "bkdwd_1",
      revision: 1,
      members: weights.map(([plan, weight]) => ({ plan, weight })),
    });
    const plan = weighted([fixed(201), 3], [fixed(202), 1], [fixed(203), 0]);
    const chosen = Array.from(
      { length: 40 },
      () => (upstreams.choose(plan, exchange(), []) as { status: number }).status,
    );
    assert.equal(chosen.filter((status) => status === 201).length, 30);
    assert.equal(chosen.filter((status) => status === 202).length, 10);
    assert.deepEqual(chosen.slice(0, 4).filter((status) => status === 202).length, 1);
    const broken = weighted([group({ app: "none" }), 100], [fixed(200), 1]);
    assert.equal((upstreams.choose(broken, exchange(), []) as { status: number }).status, 200);
    assert.deepEqual(upstreams.choose(weighted([fixed(200), 0]), exchange(), []), { error: "backend_empty" });
  });

  it("the choice of an upstream uses one pool per static address and drops an unreachable address", async () => {
    const { upstreams } = platform();
    const plan: UpstreamPlan = { kind: "static", id: "bkdsc_1", revision: 1, host: "127.0.0.1", port, tls: false };
    const pool = upstreams.choose(plan, exchange(), []);
    assert.ok(pool instanceof UpstreamPool);
    assert.equal(upstreams.choose({ ...plan, id: "bkdsc_2" }, exchange(), []), pool);
    assert.deepEqual(upstreams.choose(plan, exchange(), [pool]), { error: "upstream_refused" });
    (await hold(pool))();
    assert.equal(pool.idle, 1);
    const unreachable = upstreams.choose({ ...plan, port: 1 }, exchange(), []);
    assert.ok(unreachable instanceof UpstreamPool);
    await assert.rejects(hold(unreachable));
    pool.close();
  });
});
