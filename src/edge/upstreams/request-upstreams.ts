/** Carries out upstream plans: which tunnel, address or fixed answer a request gets. */
import { skipped } from "../../traffic/step.ts";
import type { Answer, Step } from "../../traffic/step.ts";
import type { Exchange } from "../../traffic/exchange.ts";
import type { UpstreamPlan } from "../../traffic/upstream-plan.ts";
import type { AgentSession, TakeStream } from "../../tunnel/server-hooks.ts";
import { proxyPreamble } from "./proxy-preamble.ts";
import { UpstreamPool } from "./upstream-pool.ts";
import type { PoolOptions } from "./upstream-pool.ts";
import { http2Upstream } from "../http2/upstream/stream.ts";
import type { Upstreams } from "./upstreams.ts";
import { refusalOf } from "./dial.ts";
import type { DialOptions } from "./dial.ts";
import { makePicker } from "./pick.ts";
import type { Circumstances, Picked } from "./pick.ts";
import type { AgentRegistry } from "../agents/registry.ts";
import { keyOf, makeStaticPools } from "./static-pools.ts";
import type { Tunnel } from "../agents/tunnel.ts";

export interface TunnelUpstreamsOptions {
  readonly registry: AgentRegistry;
  readonly context: PoolOptions["context"];
  /** How static addresses are reached. */
  readonly dial: DialOptions;
}

export interface TunnelUpstreams extends Upstreams {
  /** What `choose` would come to now, without choosing it: pushes its steps. Names are looked up, nothing is dialled. */
  foresee(plan: UpstreamPlan, steps: Step[]): Promise<Picked>;
}

/** The streams to a tunnel. */
interface Way {
  readonly http: UpstreamPool;
  /** Streams that are not spoken to in HTTP; none of them is used twice. */
  readonly raw: UpstreamPool;
}

/**
 * From this many streams on a session's idle ones make room for new ones. Agents that die of too many streams
 * have their limit a little above (agent-protocol, "What the server keeps to").
 */
const crowdedStreams = 200;
/** Pools looked at for an idle stream to close. */
const evictionLooks = 32;
/** Forbidden addresses that a dry run gets past. */
const maxForeseen = 8;
const forbidden: Answer = Object.freeze({ error: "upstream_forbidden" as const });

export function makeUpstreams({ registry, context, dial }: TunnelUpstreamsOptions): TunnelUpstreams {
  const { pick } = makePicker(registry);
  const addresses = makeStaticPools(context, dial);
  const ways = new Map<Tunnel, Way>();
  const bySession = new Map<AgentSession, Set<UpstreamPool>>();

  const speaking =
    (take: TakeStream): TakeStream =>
    (stream, why) =>
      take(stream && http2Upstream(stream, context), why);
  const open = (tunnel: Tunnel, proto: "https" | "tcp"): PoolOptions["open"] => {
    const { id, session, endpoint } = tunnel;
    const edgeType = endpoint ? ("endpoint" as const) : ("https_edge" as const);
    return ({ connection }, take) => {
      if (session.openStreams >= crowdedStreams) makeRoom(bySession.get(session));
      const clientAddress = addressText(connection.source, connection.sourcePort);
      const preamble = proxyPreamble(tunnel.proxyProtocol, connection);
      const header = { tunnelId: id, clientAddress, proto, edgeType, passthroughTls: false };
      return session.openProxy(
        { ...header, ...(preamble && { preamble }) },
        tunnel.http2 && proto === "https" ? speaking(take) : take,
      );
    };
  };
  const wayTo = (tunnel: Tunnel): Way => {
    const known = ways.get(tunnel);
    if (known) return known;
    const shared = { context, isAgent: true, ...(tunnel.proxyProtocol !== 0 && { clientOf }) };
    const http = new UpstreamPool({ open: open(tunnel, "https"), reuse: true, ...shared });
    const raw = new UpstreamPool({ open: open(tunnel, "tcp"), reuse: false, ...shared });
    const way = { http, raw };
    ways.set(tunnel, way);
    const siblings = bySession.get(tunnel.session);
    if (siblings) siblings.add(http);
    else bySession.set(tunnel.session, new Set([http]));
    return way;
  };
  registry.onTunnelClosed((tunnel) => {
    const way = ways.get(tunnel);
    if (!way) return;
    ways.delete(tunnel);
    const siblings = bySession.get(tunnel.session);
    siblings?.delete(way.http);
    if (siblings?.size === 0) bySession.delete(tunnel.session);
    way.http.close();
    way.raw.close();
  });

  const load = (tunnel: Tunnel): number => {
    const way = ways.get(tunnel);
    return way === undefined ? 0 : way.http.outstanding + way.raw.outstanding;
  };
  const circumstances = (tried: readonly UpstreamPool[], steps: Step[], dry: boolean): Circumstances => ({
    load,
    isTried(place) {
      if (tried.length === 0) return false;
      const way = "session" in place ? ways.get(place) : addresses.known(place);
      return way !== undefined && (tried.includes(way.http) || tried.includes(way.raw));
    },
    steps,
    dry,
  });
  return {
    choose(plan, exchange: Exchange, tried, raw = false): UpstreamPool | Answer {
      const picked = pick(plan, circumstances(tried, exchange.steps, false));
      if ("session" in picked) return wayTo(picked)[raw ? "raw" : "http"];
      return "host" in picked ? addresses.to(picked)[raw ? "raw" : "http"] : picked;
    },
    async foresee(plan, steps) {
      const tried = new Set<string>();
      const isTried: Circumstances["isTried"] = (place) => !("session" in place) && tried.has(keyOf(place));
      while (tried.size < maxForeseen) {
        const picked = pick(plan, { load, isTried, steps, dry: true });
        if (!("host" in picked)) return tried.size > 0 && "error" in picked ? forbidden : picked;
        const refusal = await refusalOf(picked.host, dial);
        if (!refusal) return picked;
        tried.add(keyOf(picked));
        steps.push(skipped("backend", refusal.message));
      }
      return forbidden;
    },
  };
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

/** Streams that begin with a PROXY header are used again under the same header alone. */
function clientOf({ connection }: Exchange): string {
  return addressText(connection.source, connection.sourcePort);
}

function addressText(address: string, port: number): string {
  return address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
}
