/** Executes upstream plans: chooses the tunnel, address or fixed answer of a request. */
import { runContained, reportFailure } from "../../lib/boundary.ts";
import { skipStep } from "../../traffic/step.ts";
import type { Answer, Step } from "../../traffic/step.ts";
import type { Exchange } from "../../traffic/exchange.ts";
import type { McpSession } from "../../traffic/mcp-session.ts";
import type { UpstreamPlan } from "../../traffic/upstream-plan.ts";
import type { AgentSession, TakeStream } from "../../tunnel/server-hooks.ts";
import { proxyPreamble } from "./proxy-preamble.ts";
import { UpstreamPool } from "./upstream-pool.ts";
import type { PoolOptions } from "./upstream-pool.ts";
import type { UpstreamContext } from "./upstream-context.ts";
import { http2Upstream } from "./http2/http2-upstream.ts";
import { refusalOf } from "./dial.ts";
import type { DialOptions } from "./dial.ts";
import { makePicker } from "./pick.ts";
import type { Circumstances, Picked } from "./pick.ts";
import type { AgentRegistry } from "../agents/registry.ts";
import { makeRequestTimes } from "./tell-times.ts";
import { keyOf, makeStaticPools } from "./static-pools.ts";
import type { PoolPair } from "./upstream-pool.ts";
import { markOfTunnel } from "../agents/tunnels/tunnel-mark.ts";
import type { Tunnel } from "../agents/tunnels/tunnel.ts";

export interface RequestUpstreamsOptions {
  readonly registry: AgentRegistry;
  readonly context: UpstreamContext;
  /** Options for dialling static addresses. */
  readonly dial: DialOptions;
}

export interface RequestUpstreams {
  /**
   * Chooses the upstream of a request: a pool that is not in `tried`, or the answer that ends the exchange
   * (`backend_empty`, `tunnel_gone`, a fixed response). Called once per request, and again with the tried pools if a
   * stream could not be opened before anything was sent. Adds the decisions to `exchange.steps`. Steps that only depend
   * on the tunnel are created once per tunnel.
   * @param raw whether the upstream does not speak HTTP. The pool's streams are then for `UpstreamConnection.raw`
   */
  choose(plan: UpstreamPlan, exchange: Exchange, tried: readonly UpstreamPool[], raw?: boolean): UpstreamPool | Answer;
  /** Previews `choose` without affecting it and adds its steps. Looks up names, but does not dial. */
  foresee(plan: UpstreamPlan, steps: Step[], session?: McpSession): Promise<Picked>;
}

/**
 * Number of a session's streams from which idle ones are closed to make room. Agents that fail on too many streams have
 * a slightly higher limit (agent-protocol, "Rules of the server").
 */
const crowdedStreams = 200;
/** Maximum number of pools that are searched for an idle stream to close. */
const evictionLooks = 32;
/** Maximum number of forbidden addresses that a dry run skips. */
const maxForeseen = 8;
const forbidden: Answer = Object.freeze({ error: "upstream_forbidden" as const });

export function makeRequestUpstreams({ registry, context, dial }: RequestUpstreamsOptions): RequestUpstreams {
  const { pick } = makePicker(registry);
  const addresses = makeStaticPools(context, dial);
  const tellTimes = makeRequestTimes(context.clock);
  const pairs = new Map<Tunnel, PoolPair>();
  const bySession = new Map<AgentSession, Set<UpstreamPool>>();

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
        tunnel.http2 && proto === "https" ? speakHttp2(take, context) : take,
      );
    };
  };
  const pairTo = (tunnel: Tunnel): PoolPair => {
    const known = pairs.get(tunnel);
    if (known) return known;
    const { id, session, forwardsTo } = tunnel;
    const shared = {
      context,
      isAgent: true,
      tunnel: { id, sessionId: session.id, forwardsTo },
      ...(tunnel.proxyProtocol !== 0 && { clientOf }),
    };
    const timed: PoolOptions["timed"] = tunnel.wantsTimes
      ? (requestId, times) => tellTimes(session, requestId, times)
      : undefined;
    const http = new UpstreamPool({ open: open(tunnel, "https"), reuse: true, ...shared, ...(timed && { timed }) });
    const raw = new UpstreamPool({ open: open(tunnel, "tcp"), reuse: false, ...shared });
    const pair = { http, raw };
    pairs.set(tunnel, pair);
    const siblings = bySession.get(session);
    if (siblings) siblings.add(http);
    else bySession.set(session, new Set([http]));
    return pair;
  };
  registry.onTunnelClosed((tunnel, boundMs) => {
    const pair = pairs.get(tunnel);
    if (!pair) return;
    pairs.delete(tunnel);
    const siblings = bySession.get(tunnel.session);
    siblings?.delete(pair.http);
    if (siblings?.size === 0) bySession.delete(tunnel.session);
    // Waiting requests choose again. A tunnel that replaces this one opens in the same turn.
    queueMicrotask(() => {
      runContained("task", () => pair.http.retire(boundMs));
      runContained("task", () => pair.raw.retire(boundMs));
    });
  });

  const load = (tunnel: Tunnel): number => {
    const pair = pairs.get(tunnel);
    return pair === undefined ? 0 : pair.http.outstanding + pair.raw.outstanding;
  };
  let triedPools: readonly UpstreamPool[] = [];
  // Inputs of the current choice. Choices never overlap.
  const circumstances: { -readonly [Part in keyof Circumstances]: Circumstances[Part] } = {
    load,
    isTried(place) {
      if (triedPools.length === 0) return false;
      const pair = "session" in place ? pairs.get(place) : addresses.known(place);
      return pair !== undefined && (triedPools.includes(pair.http) || triedPools.includes(pair.raw));
    },
    session: undefined,
    steps: [],
    dry: false,
  };
  return {
    choose(plan, exchange: Exchange, tried, raw = false): UpstreamPool | Answer {
      triedPools = tried;
      circumstances.steps = exchange.steps;
      const { mcpSession } = exchange;
      circumstances.session = mcpSession;
      const picked = pick(plan, circumstances);
      if (mcpSession && "session" in picked) mcpSession.served = markOfTunnel(picked);
      if ("session" in picked) return pairTo(picked)[raw ? "raw" : "http"];
      return "host" in picked ? addresses.to(picked)[raw ? "raw" : "http"] : picked;
    },
    async foresee(plan, steps, session) {
      const tried = new Set<string>();
      const isTried: Circumstances["isTried"] = (place) => !("session" in place) && tried.has(keyOf(place));
      while (tried.size < maxForeseen) {
        const picked = pick(plan, { load, isTried, session, steps, dry: true });
        if (!("host" in picked)) return tried.size > 0 && "error" in picked ? forbidden : picked;
        const refusal = await refusalOf(picked.host, dial);
        if (!refusal) return picked;
        tried.add(keyOf(picked));
        steps.push(skipStep("backend", refusal.message));
      }
      return forbidden;
    },
  };
}

/** Wraps streams of services that speak only HTTP/2. */
function speakHttp2(take: TakeStream, context: UpstreamContext): TakeStream {
  return (stream, why) => {
    try {
      take(stream && http2Upstream(stream, context), why);
    } catch (error) {
      reportFailure("stream", error);
      stream?.abort();
      take(undefined);
    }
  };
}

function makeRoom(pools: Set<UpstreamPool> | undefined): void {
  let looks = evictionLooks;
  for (const pool of pools ?? []) {
    if (pool.evict()) {
      // Move the pool to the end, so that pools take turns in giving up streams.
      pools?.delete(pool);
      pools?.add(pool);
      return;
    }
    looks -= 1;
    if (looks === 0) return;
  }
}

/** Streams that begin with a PROXY header are reused only for the same header. */
function clientOf({ connection }: Exchange): string {
  return addressText(connection.source, connection.sourcePort);
}

function addressText(address: string, port: number): string {
  return address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
}
