/** Connections to TLS and TCP edges and endpoints: which are accepted, where each one goes, and how it ends. */
import type { Socket } from "node:net";
import { reportFailure } from "../../lib/boundary.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Deadlines } from "../../lib/deadlines.ts";
import type { Log } from "../../lib/log.ts";
import { newConnectionId } from "../../lib/traffic-ids.ts";
import type { Metrics } from "../../lib/metrics.ts";
import { Roster } from "../../lib/collections/roster.ts";
import type { Seat } from "../../lib/collections/roster.ts";
import type { ConnectionFacts } from "../../traffic/connection-facts.ts";
import type { Step } from "../../traffic/step.ts";
import type { ConnectionSite } from "../../routing/sites/compiled-site.ts";
import type { AgentRegistry } from "../agents/registry.ts";
import type { Tunnel } from "../agents/tunnels/tunnel.ts";
import { makeAccountConnections } from "../listeners/account-connections.ts";
import type { TlsEnd } from "../tls/tls-end.ts";
import { makeConnectionUpstreams } from "../upstreams/connection-upstreams.ts";
import type { DialOptions } from "../upstreams/dial.ts";
import type { ClosedConnection } from "./closed-connection.ts";
import { exportSpliceCounters, makeSpliceCounters } from "./splice-counters.ts";
import { decideConnection } from "./decide.ts";
import type { Deciding } from "./decide.ts";
import type { SpliceLimits } from "./splice-limits.ts";
import { SplicedConnection } from "./spliced-connection.ts";
import type { SplicedConnections } from "./spliced-connection.ts";

export interface ConnectionServerOptions {
  /** Terminates TLS if a policy requires it. */
  readonly tlsEnd: TlsEnd;
  /** Returns an internal endpoint of an account. */
  readonly internal: Deciding["internal"];
  readonly registry: AgentRegistry;
  readonly dial: DialOptions;
  readonly limits: SpliceLimits;
  readonly deadlines: Deadlines;
  /** Called for every connection that is over, including refused ones. */
  readonly closed: (connection: ClosedConnection) => void;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}

export interface ConnectionServer {
  /** Number of connections being served. */
  readonly open: number;
  /** Whether a connection from `source` may use `site`. Called before the first byte is answered (R4). */
  readonly admits: (site: ConnectionSite, source: string) => boolean;
  /** Forwards an accepted connection. Takes ownership of the socket. */
  readonly serve: (socket: Socket, facts: ConnectionFacts, site: ConnectionSite) => void;
  /** Cuts all connections. */
  destroy(): void;
}

interface Refused {
  readonly outcome: "broken" | "denied" | "account_limit";
  readonly steps: readonly Step[];
}

export function makeConnectionServer(options: ConnectionServerOptions): ConnectionServer {
  const { registry, limits, deadlines, log } = options;
  const counters = makeSpliceCounters();
  const open = new Roster<SplicedConnection>();
  const ofAccount = makeAccountConnections(limits.connectionsPerAccount);
  const ofTunnel = new Map<Tunnel, Roster<Seat<SplicedConnection>>>();
  exportSpliceCounters(counters, options.metrics, () => open.size);
  const upstreams = makeConnectionUpstreams({
    ...options,
    load: (tunnel) => ofTunnel.get(tunnel)?.size ?? 0,
  });
  registry.onTunnelClosed((tunnel, boundMs) => {
    for (const { member } of ofTunnel.get(tunnel)?.members() ?? []) member.endWithin(boundMs);
  });

  const all: SplicedConnections = {
    ...options,
    upstreams,
    counters,
    reached(served, tunnel) {
      let siblings = ofTunnel.get(tunnel);
      if (!siblings) ofTunnel.set(tunnel, (siblings = new Roster()));
      siblings.add(served.atTunnel);
    },
    leave(served) {
      if (!open.delete(served)) return;
      served.watch?.cancel();
      ofAccount.leave(served.site.accountId);
      const { tunnel } = served;
      const siblings = tunnel && ofTunnel.get(tunnel);
      siblings?.delete(served.atTunnel);
      if (tunnel && siblings?.size === 0) ofTunnel.delete(tunnel);
    },
  };
  const refusal = (site: ConnectionSite, source: string): Refused | undefined => {
    const failed = (error: unknown): void => reportFailure("connection", error, { site: site.id });
    const steps: Step[] = [];
    const step = decideConnection(site, source, steps, failed);
    if (step) return { outcome: step.by === "router" ? "broken" : "denied", steps: [...steps, step] };
    return ofAccount.isFull(site.accountId) ? { outcome: "account_limit", steps: [] } : undefined;
  };

  return {
    get open() {
      return open.size;
    },
    admits(site, source) {
      const refused = refusal(site, source);
      if (refused === undefined) return true;
      const { outcome } = refused;
      counters.ended[outcome] += 1;
      const id = newConnectionId(options.clock.now());
      log.debug("connection refused", { connection: id, site: site.id, source, why: outcome });
      options.closed({ id, site, source, ...refused, bytesIn: 0, bytesOut: 0 });
      return false;
    },
    serve(socket, facts, site) {
      const served = new SplicedConnection(all, socket, facts, site);
      open.add(served);
      served.watch = deadlines.add(served);
      ofAccount.enter(site.accountId);
      try {
        served.start();
      } catch (error) {
        served.broke(error);
      }
    },
    destroy() {
      for (const served of open.members()) served.cut();
    },
  };
}
