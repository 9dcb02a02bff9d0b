/** The ports of TCP edges and endpoints: opened and closed as configuration and agents say, each by itself. */
import type { Socket } from "node:net";
import type { Timer } from "../../lib/clock.ts";
import type { ConnectionFacts } from "../../traffic/exchange.ts";
import type { ConnectionSite, RoutingTable } from "../../routing/sites/compiled.ts";
import type { Problem } from "../../routing/planes/messages.ts";
import { makeAdmission } from "./admission.ts";
import { connectionFacts, startListener } from "./listener.ts";
import type { Client, Listener, PublicListenerContext } from "./listener.ts";

export interface TcpPortsOptions extends PublicListenerContext {
  /** Every address of the machine unless given. */
  readonly host: string | undefined;
  readonly table: RoutingTable;
  readonly report: (problems: readonly Problem[]) => void;
  admits(site: ConnectionSite, source: string): boolean;
  serve(socket: Socket, facts: ConnectionFacts, site: ConnectionSite): void;
}

export interface TcpPorts {
  /** Serves an agent's endpoint at its port. `failed` is called at most once: the port cannot be had. */
  open(site: ConnectionSite, failed: (why: string) => void): void;
  /** Harmless when repeated. Connections that are open go on. */
  close(site: ConnectionSite): void;
  /** Ports of edges that cannot be had now. */
  readonly problems: () => readonly Problem[];
  /** Listens no more; configuration is not followed any further. */
  stop(): void;
}

/** Who wants a port; the first is served. */
interface Claim {
  readonly site: ConnectionSite;
  /** Of an agent's endpoint. */
  readonly failed: ((why: string) => void) | undefined;
}

interface Port {
  readonly number: number;
  claims: readonly Claim[];
  listener: Listener | undefined;
  isStarting: boolean;
  /** Why it cannot be listened on. */
  failure: string | undefined;
  retry: Timer | undefined;
}

const retryMs = 5000;

/** Follows `table`, whose TCP edges are served from its next change on. */
export function makeTcpPorts(options: TcpPortsOptions): TcpPorts {
  const { table, clock, log } = options;
  const admission = makeAdmission(options.limits, () => clock.monotonic());
  const ports = new Map<number, Port>();
  /** The ports that each edge has now. */
  const held = new Map<string, ConnectionSite>();
  const reported = new Map<string, Problem>();
  let isStopped = false;

  const accept = (port: Port) => (socket: Socket, client: Client) => {
    const site = port.claims[0]?.site;
    // R4: decided before a byte is read
    if (!site || !options.admits(site, client.address)) {
      socket.destroy();
      return;
    }
    options.serve(socket, connectionFacts(socket, client, clock.now()), site);
  };
  const listen = async (port: Port): Promise<void> => {
    port.isStarting = true;
    try {
      const at = { host: options.host, port: port.number };
      const listener = await startListener({ ...options, name: "tcp", at, admission, accept: accept(port) });
      if (isStopped || port.claims.length === 0) listener.close();
      else {
        port.listener = listener;
        log.info("TCP port opened", { port: port.number, site: port.claims[0]?.site.id });
      }
      port.failure = undefined;
    } catch (error) {
      port.failure = failureOf(error);
      log.warn("TCP port not opened", { port: port.number, error });
    }
    port.isStarting = false;
  };
  /** Listens where somebody wants it, and nowhere else. */
  const settle = async (port: Port): Promise<void> => {
    if (port.claims.length === 0) {
      port.retry?.cancel();
      port.retry = undefined;
      port.failure = undefined;
      if (port.listener) log.info("TCP port closed", { port: port.number });
      port.listener?.close();
      port.listener = undefined;
      if (!port.isStarting) ports.delete(port.number);
      return;
    }
    if (port.listener || port.isStarting || port.retry || isStopped) return;
    await listen(port);
    if (port.claims.length === 0) return await settle(port);
    if (port.failure === undefined || isStopped) return;
    for (const { failed } of port.claims) failed?.(port.failure);
    if (port.claims.length === 0) return;
    port.retry = clock.after(retryMs, () => {
      port.retry = undefined;
      void settle(port).then(tell);
    });
  };
  const portOf = (number: number): Port => {
    let port = ports.get(number);
    if (!port) {
      port = { number, claims: [], listener: undefined, isStarting: false, failure: undefined, retry: undefined };
      ports.set(number, port);
    }
    return port;
  };
  const claim = (number: number, one: Claim): Port => {
    const port = portOf(number);
    const others = port.claims.filter(({ site }) => site.id !== one.site.id);
    const before = port.claims.find(({ site }) => site.id === one.site.id);
    if (before) port.claims = port.claims.map((claimed) => (claimed === before ? one : claimed));
    // Configuration comes before agents, which are told that their address is gone.
    else if (one.failed) port.claims = [...others, one];
    else port.claims = [...others.filter(({ failed }) => !failed), one, ...others.filter(({ failed }) => failed)];
    return port;
  };
  const unclaim = (number: number, siteId: string): Port | undefined => {
    const port = ports.get(number);
    if (port) port.claims = port.claims.filter(({ site }) => site.id !== siteId);
    return port;
  };

  const problemOf = (site: ConnectionSite): Problem | undefined => {
    for (const number of site.ports) {
      const port = ports.get(number);
      const [first] = port?.claims ?? [];
      const why = first && first.site.id !== site.id ? `${first.site.kind} ${first.site.id} has it` : port?.failure;
      if (why === undefined) continue;
      const { id, accountId } = site;
      return { kind: "tcp_edge", id, accountId, module: "listener", message: `listen on port ${number}: ${why}` };
    }
    return undefined;
  };
  /** Reports what is new, and clears what is over. */
  const tell = (): void => {
    const news: Problem[] = [];
    for (const site of held.values()) {
      const problem = problemOf(site);
      if (!problem || problem.message === reported.get(site.id)?.message) continue;
      reported.set(site.id, problem);
      news.push(problem);
    }
    for (const [id, problem] of reported) {
      const site = held.get(id);
      if (site && problemOf(site)) continue;
      reported.delete(id);
      news.push({ ...problem, message: undefined });
    }
    if (news.length > 0 && !isStopped) options.report(news);
  };
  table.subscribe(({ siteIds }) => {
    if (isStopped) return;
    const touched = new Set<Port>();
    // What is given up first: another may take it in the same change.
    for (const id of siteIds) {
      const before = held.get(id);
      const after = table.tcpSite(id);
      for (const number of before?.ports ?? []) {
        const port = after?.ports.includes(number) ? undefined : unclaim(number, id);
        if (port) touched.add(port);
      }
      if (after) held.set(id, after);
      else held.delete(id);
    }
    for (const id of siteIds) {
      const site = held.get(id);
      for (const number of site?.ports ?? []) {
        touched.add(claim(number, { site: site as ConnectionSite, failed: undefined }));
      }
    }
    if (touched.size > 0) void Promise.all([...touched].map(settle)).then(tell);
  });

  return {
    open(site, failed) {
      for (const number of site.ports) void settle(claim(number, { site, failed })).then(tell);
    },
    close(site) {
      for (const number of site.ports) {
        const port = ports.get(number);
        // A newer tunnel of the same endpoint may have it already.
        if (port?.claims.some((one) => one.site === site)) void settle(unclaim(number, site.id) as Port).then(tell);
      }
    },
    problems: () => [...reported.values()],
    stop() {
      isStopped = true;
      for (const port of ports.values()) {
        port.retry?.cancel();
        port.listener?.close();
      }
    },
  };
}

function failureOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === "EADDRINUSE") return "something else on the server listens there";
  if (code === "EACCES") return "the server may not listen on ports below 1024";
  return message;
}
