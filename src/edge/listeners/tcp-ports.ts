/** Ports of TCP edges and endpoints. Each opens and closes independently, as configuration and agents require. */
import { runUnattended } from "../../lib/boundary.ts";
import type { ConnectionSite, RoutingTable } from "../../routing/sites/compiled-site.ts";
import type { Problem } from "../../routing/planes/messages.ts";
import { makeAdmission } from "./admission.ts";
import { arePooled, makeTcpPort } from "./tcp-port.ts";
import type { PortClaim, TcpPort, TcpPortContext } from "./tcp-port.ts";

export interface TcpPortsOptions extends Omit<TcpPortContext, "admission" | "isStopped" | "unused" | "retried"> {
  readonly table: RoutingTable;
  readonly report: (problems: readonly Problem[]) => void;
}

export interface TcpPorts {
  /** Serves an agent's endpoint at its port. Calls `failed` at most once, if the port is not available. */
  open(site: ConnectionSite, failed: (why: string) => void, isElsewhere?: boolean): void;
  /** Stops serving the endpoint. Open connections continue. May be repeated. */
  close(site: ConnectionSite): void;
  /** Ports of edges that are currently not available. */
  readonly problems: () => readonly Problem[];
  /** Stops listening and following the configuration. */
  stop(): void;
}

type Ports = ReadonlyMap<number, TcpPort>;

/** Follows `table` and serves its TCP edges from its next change on. */
export function makeTcpPorts(options: TcpPortsOptions): TcpPorts {
  const { table, clock } = options;
  const ports = new Map<number, TcpPort>();
  /** Current ports by edge. */
  const held = new Map<string, ConnectionSite>();
  const reported = new Map<string, Problem>();
  let isStopped = false;

  const tell = (): void => {
    const news = newsOf(ports, held, reported);
    if (news.length > 0 && !isStopped) options.report(news);
  };
  const settle = (touched: Iterable<TcpPort>): void => {
    runUnattended("task", Promise.all(Array.from(touched, (port) => port.settle())).then(tell));
  };
  const context: TcpPortContext = {
    ...options,
    admission: makeAdmission(options.limits, () => clock.monotonic()),
    isStopped: () => isStopped,
    unused: (number) => void ports.delete(number),
    retried: tell,
  };
  const claim = (number: number, one: PortClaim): TcpPort => {
    let port = ports.get(number);
    if (!port) ports.set(number, (port = makeTcpPort(number, context)));
    port.claim(one);
    return port;
  };
  table.subscribe(({ siteIds }) => {
    if (isStopped) return;
    const touched = new Set<TcpPort>();
    // First release ports, because another edge may claim one in the same change.
    for (const id of siteIds) {
      const after = table.tcpSite(id);
      for (const number of held.get(id)?.ports ?? []) {
        const port = after?.ports.includes(number) ? undefined : ports.get(number);
        port?.unclaim(id);
        if (port) touched.add(port);
      }
      if (after) held.set(id, after);
      else held.delete(id);
    }
    for (const id of siteIds) {
      const site = held.get(id);
      for (const number of site?.ports ?? []) {
        touched.add(claim(number, { site: site as ConnectionSite, failed: undefined, isElsewhere: false }));
      }
    }
    if (touched.size > 0) settle(touched);
  });

  return {
    open(site, failed, isElsewhere = false) {
      for (const number of site.ports) settle([claim(number, { site, failed, isElsewhere })]);
    },
    close(site) {
      for (const number of site.ports) {
        const port = ports.get(number);
        // A newer tunnel of the same endpoint may already have the port.
        if (!port?.claims.some((one) => one.site === site)) continue;
        port.unclaim(site.id);
        settle([port]);
      }
    },
    problems: () => [...reported.values()],
    stop() {
      isStopped = true;
      for (const port of ports.values()) port.stop();
    },
  };
}

/** Returns new problems, and resolved ones as cleared. Updates `reported`. */
function newsOf(ports: Ports, held: ReadonlyMap<string, ConnectionSite>, reported: Map<string, Problem>): Problem[] {
  const news: Problem[] = [];
  for (const site of held.values()) {
    const problem = problemOf(ports, site);
    if (!problem || problem.message === reported.get(site.id)?.message) continue;
    reported.set(site.id, problem);
    news.push(problem);
  }
  for (const [id, problem] of reported) {
    const site = held.get(id);
    if (site && problemOf(ports, site)) continue;
    reported.delete(id);
    news.push({ ...problem, message: undefined });
  }
  return news;
}

function problemOf(ports: Ports, site: ConnectionSite): Problem | undefined {
  for (const number of site.ports) {
    const port = ports.get(number);
    const first = port?.claims[0]?.site;
    const why =
      first && first.id !== site.id && !arePooled(first, site) ? `${first.kind} ${first.id} has it` : port?.failure;
    if (why === undefined) continue;
    const { id, accountId } = site;
    return { kind: "tcp_edge", id, accountId, module: "listener", message: `listen on port ${number}: ${why}` };
  }
  return undefined;
}
