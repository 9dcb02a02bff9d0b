/** The ports of TCP edges and endpoints: opened and closed as configuration and agents say, each by itself. */
import { letGo } from "../../lib/boundary.ts";
import type { ConnectionSite, RoutingTable } from "../../routing/sites/compiled.ts";
import type { Problem } from "../../routing/planes/messages.ts";
import { makeAdmission } from "./admission.ts";
import { arePooled, makeTcpPort } from "./tcp-port.ts";
import type { Claim, TcpPort, TcpPortContext } from "./tcp-port.ts";

export interface TcpPortsOptions extends Omit<TcpPortContext, "admission" | "isStopped" | "unused" | "retried"> {
  readonly table: RoutingTable;
  readonly report: (problems: readonly Problem[]) => void;
}

export interface TcpPorts {
  /** Serves an agent's endpoint at its port. `failed` is called at most once: the port cannot be had. */
  open(site: ConnectionSite, failed: (why: string) => void, isElsewhere?: boolean): void;
  /** Harmless when repeated. Connections that are open go on. */
  close(site: ConnectionSite): void;
  /** Ports of edges that cannot be had now. */
  readonly problems: () => readonly Problem[];
  /** Listens no more; configuration is not followed any further. */
  stop(): void;
}

type Ports = ReadonlyMap<number, TcpPort>;

/** Follows `table`, whose TCP edges are served from its next change on. */
export function makeTcpPorts(options: TcpPortsOptions): TcpPorts {
  const { table, clock } = options;
  const ports = new Map<number, TcpPort>();
  /** The ports that each edge has now. */
  const held = new Map<string, ConnectionSite>();
  const reported = new Map<string, Problem>();
  let isStopped = false;

  const tell = (): void => {
    const news = newsOf(ports, held, reported);
    if (news.length > 0 && !isStopped) options.report(news);
  };
  const settle = (touched: Iterable<TcpPort>): void => {
    letGo("task", Promise.all(Array.from(touched, (port) => port.settle())).then(tell));
  };
  const context: TcpPortContext = {
    ...options,
    admission: makeAdmission(options.limits, () => clock.monotonic()),
    isStopped: () => isStopped,
    unused: (number) => void ports.delete(number),
    retried: tell,
  };
  const claim = (number: number, one: Claim): TcpPort => {
    let port = ports.get(number);
    if (!port) ports.set(number, (port = makeTcpPort(number, context)));
    port.claim(one);
    return port;
  };
  table.subscribe(({ siteIds }) => {
    if (isStopped) return;
    const touched = new Set<TcpPort>();
    // What is given up first: another may take it in the same change.
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
        // A newer tunnel of the same endpoint may have it already.
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

/** Problems that are new, and those that are over, cleared; `reported` is brought up to date. */
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
