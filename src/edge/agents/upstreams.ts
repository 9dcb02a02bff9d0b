/** Carries out upstream plans: which tunnel, address or fixed answer a request gets. */
import type { Answer } from "../../modules/step.ts";
import { passed } from "../../modules/step.ts";
import type { Exchange } from "../../modules/exchange.ts";
import type { UpstreamPlan } from "../../modules/upstream-plan.ts";
import type { AgentSession } from "../../tunnel/server-hooks.ts";
import { UpstreamPool } from "../http/upstream-pool.ts";
import type { PoolOptions } from "../http/upstream-pool.ts";
import type { Upstreams } from "../http/upstreams.ts";
import type { DialOptions, StaticAddress } from "./dial.ts";
import type { GroupPlan } from "./groups.ts";
import type { AgentRegistry } from "./registry.ts";
import { makeStaticPools } from "./static-pools.ts";
import type { Way } from "./static-pools.ts";
import type { Tunnel } from "./tunnel.ts";

export interface TunnelUpstreamsOptions {
  readonly registry: AgentRegistry;
  readonly context: PoolOptions["context"];
  /** How static addresses are reached. */
  readonly dial: DialOptions;
}

/** A plan's answer when it leads to no pool: it can be told from a pool by `error` or `status`. */
type Choice = UpstreamPool | Answer;

/**
 * From this many streams on a session's idle ones make room for new ones. Agents that die of too many streams
 * have their limit a little above (agent-protocol.md §7, R3).
 */
const crowdedStreams = 200;
/** Pools looked at for an idle stream to close. */
const evictionLooks = 32;

const tunnelGone: Answer = Object.freeze({ error: "tunnel_gone" as const });
const upstreamRefused: Answer = Object.freeze({ error: "upstream_refused" as const });
const backendEmpty: Answer = Object.freeze({ error: "backend_empty" as const });

export function makeUpstreams({ registry, context, dial }: TunnelUpstreamsOptions): Upstreams {
  const addresses = makeStaticPools(context, dial);
  const ways = new Map<Tunnel, Way>();
  const bySession = new Map<AgentSession, Set<UpstreamPool>>();
  const turns = new WeakMap<UpstreamPlan, number[]>();

  const open = (tunnel: Tunnel): PoolOptions["open"] => {
    const { id, session, endpoint } = tunnel;
    const edgeType = endpoint ? ("endpoint" as const) : ("https_edge" as const);
    return ({ connection }, take) => {
      if (session.openStreams >= crowdedStreams) makeRoom(bySession.get(session));
      const clientAddress = addressText(connection.source, connection.sourcePort);
      session.openProxy({ tunnelId: id, clientAddress, proto: "https", edgeType, passthroughTls: false }, take);
    };
  };
  const wayTo = (tunnel: Tunnel): Way => {
    const known = ways.get(tunnel);
    if (known) return known;
    const pool = new UpstreamPool({ open: open(tunnel), context, isAgent: true, reuse: true });
    const way = { pool, step: passed("backend", `sent through tunnel ${tunnel.id} of session ${tunnel.session.id}`) };
    ways.set(tunnel, way);
    const siblings = bySession.get(tunnel.session);
    if (siblings) siblings.add(pool);
    else bySession.set(tunnel.session, new Set([pool]));
    return way;
  };
  registry.onTunnelClosed((tunnel) => {
    const way = ways.get(tunnel);
    if (!way) return;
    ways.delete(tunnel);
    const siblings = bySession.get(tunnel.session);
    siblings?.delete(way.pool);
    if (siblings?.size === 0) bySession.delete(tunnel.session);
    way.pool.close();
  });

  const take = (tunnel: Tunnel | undefined, exchange: Exchange, tried: readonly UpstreamPool[]): Choice => {
    if (!tunnel) return tunnelGone;
    const { pool, step } = wayTo(tunnel);
    if (tried.includes(pool)) return tunnelGone;
    exchange.steps.push(step);
    return pool;
  };
  /** Fewest requests in flight; the search starts one further each time, so that equals take turns. */
  const fromGroup = (plan: GroupPlan, exchange: Exchange, tried: readonly UpstreamPool[]): Choice => {
    const group = registry.group(plan);
    const { members } = group;
    if (members.length === 0) return backendEmpty;
    group.turn = (group.turn + 1) % members.length;
    let best: Tunnel | undefined;
    let least = Infinity;
    for (let step = 0; step < members.length && least > 0; step += 1) {
      const tunnel = members[(group.turn + step) % members.length] as Tunnel;
      const pool = ways.get(tunnel)?.pool;
      const outstanding = pool === undefined ? 0 : pool.outstanding;
      if (outstanding >= least || (pool !== undefined && tried.includes(pool))) continue;
      best = tunnel;
      least = outstanding;
    }
    return take(best, exchange, tried);
  };
  const toAddress = (plan: StaticAddress, exchange: Exchange, tried: readonly UpstreamPool[]): Choice => {
    const { pool, step } = addresses.to(plan);
    if (tried.includes(pool)) return upstreamRefused;
    exchange.steps.push(step);
    return pool;
  };
  const choose = (plan: UpstreamPlan, exchange: Exchange, tried: readonly UpstreamPool[]): Choice => {
    switch (plan.kind) {
      case "tunnel":
        return take(registry.tunnel(plan.id), exchange, tried);
      case "tunnel_group":
        return fromGroup(plan, exchange, tried);
      case "failover":
        return firstThatServes(plan.members, (member) => choose(member, exchange, tried));
      case "weighted": {
        let state = turns.get(plan);
        if (!state) turns.set(plan, (state = plan.members.map(() => 0)));
        const order = byWeight(plan.members, state);
        return firstThatServes(order, (member) => choose(member.plan, exchange, tried));
      }
      case "http_response":
        return { status: plan.status, headers: plan.headers, body: plan.body };
      case "static":
        return toAddress(plan, exchange, tried);
    }
  };
  return { choose };
}

/** Members in turn until one has a pool or a fixed response; else what the last one said. */
function firstThatServes<T>(members: readonly T[], choose: (member: T) => Choice): Choice {
  let last: Choice = backendEmpty;
  for (const member of members) {
    last = choose(member);
    if (!("error" in last)) return last;
  }
  return last;
}

/**
 * The members with the one whose turn it is in front (smooth weighted round robin: each gains its weight, the
 * chosen one pays the sum). Members of weight 0 get nothing.
 */
function byWeight<T extends { readonly weight: number }>(members: readonly T[], state: number[]): readonly T[] {
  let sum = 0;
  let best = -1;
  for (let index = 0; index < members.length; index += 1) {
    const { weight } = members[index] as T;
    if (weight <= 0) continue;
    sum += weight;
    state[index] = (state[index] as number) + weight;
    if (best < 0 || (state[index] as number) > (state[best] as number)) best = index;
  }
  if (best < 0) return [];
  state[best] = (state[best] as number) - sum;
  const first = members[best] as T;
  return [first, ...members.filter((member) => member !== first && member.weight > 0)];
}

function makeRoom(pools: Set<UpstreamPool> | undefined): void {
  let looks = evictionLooks;
  for (const pool of pools ?? []) {
    if (pool.evict()) {
      // To the back, so that pools take turns at giving way.
      pools?.delete(pool);
      pools?.add(pool);
      return;
    }
    looks -= 1;
    if (looks === 0) return;
  }
}

function addressText(address: string, port: number): string {
  return address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
}
