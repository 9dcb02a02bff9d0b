/** One public TCP port: its claims, and its listener while there are claims. */
import type { Socket } from "node:net";
import { runUnattended } from "../../lib/boundary.ts";
import type { Timer } from "../../lib/clock.ts";
import type { ConnectionFacts } from "../../traffic/connection-facts.ts";
import type { ConnectionSite } from "../../routing/sites/compiled-site.ts";
import type { Admission } from "./admission.ts";
import type { Arrival } from "./arrival.ts";
import { startListener } from "./listener.ts";
import type { Listener, PublicListenerContext } from "./listener.ts";

/** A claim of a port. The first one is served. */
export interface PortClaim {
  readonly site: ConnectionSite;
  /** Callback of an agent's endpoint. Called at most once, if the port is not available. */
  readonly failed: ((why: string) => void) | undefined;
  /** Whether the endpoint's agent is connected to another edge. */
  readonly isElsewhere: boolean;
}

/** Context shared by all ports of an edge. */
export interface TcpPortContext extends PublicListenerContext {
  /** Default: every address of the machine. */
  readonly host: string | undefined;
  readonly admission: Admission;
  /** Whether listening has stopped for all ports. */
  readonly isStopped: () => boolean;
  admits(site: ConnectionSite, source: string): boolean;
  serve(socket: Socket, facts: ConnectionFacts, site: ConnectionSite): void;
  /** Returns a number from 0 up to, but not including, 1. */
  random(): number;
  /** Called when the port has no claims and no listener any more. */
  unused(number: number): void;
  /** Called after another attempt to listen, which may have succeeded. */
  retried(): void;
}

export interface TcpPort {
  /** Claims in the order of precedence. */
  readonly claims: readonly PortClaim[];
  /** Why listening fails. */
  readonly failure: string | undefined;
  /** Replaces an earlier claim of the same site. */
  claim(one: PortClaim): void;
  unclaim(siteId: string): void;
  /** Starts or stops listening according to the claims. Retries while the port is not available. */
  settle(): Promise<void>;
  /** Stops listening. */
  stop(): void;
}

const retryMs = 5000;

export function makeTcpPort(number: number, context: TcpPortContext): TcpPort {
  const { clock, log } = context;
  let claims: readonly PortClaim[] = [];
  let listener: Listener | undefined;
  let isStarting = false;
  let failure: string | undefined;
  let retry: Timer | undefined;

  const accept = (arrival: Arrival): void => {
    const site = chooseSite(claims, context.random);
    // R4: decided before the first byte is read.
    if (!site || !context.admits(site, arrival.client.address)) {
      arrival.socket.destroy();
      return;
    }
    context.serve(arrival.socket, arrival.facts(), site);
  };
  const listen = async (): Promise<void> => {
    isStarting = true;
    try {
      const started = await startListener({
        ...context,
        name: "tcp",
        at: { host: context.host, port: number },
        accept,
      });
      if (context.isStopped() || claims.length === 0) started.close();
      else {
        listener = started;
        log.info("TCP port opened", { port: number, site: claims[0]?.site.id });
      }
      failure = undefined;
    } catch (error) {
      failure = failureOf(error);
      log.warn("TCP port not opened", { port: number, error });
    }
    isStarting = false;
  };
  const giveUp = (): void => {
    retry?.cancel();
    retry = undefined;
    failure = undefined;
    if (listener) log.info("TCP port closed", { port: number });
    listener?.close();
    listener = undefined;
    if (!isStarting) context.unused(number);
  };
  const settle = async (): Promise<void> => {
    if (claims.length === 0) return giveUp();
    if (listener || isStarting || retry || context.isStopped()) return;
    await listen();
    if (claims.length === 0) return giveUp();
    if (failure === undefined || context.isStopped()) return;
    for (const { failed } of claims) failed?.(failure);
    if (claims.length === 0) return;
    retry = clock.after(retryMs, () => {
      retry = undefined;
      runUnattended("timer", settle().then(context.retried));
    });
  };
  return {
    get claims() {
      return claims;
    },
    get failure() {
      return failure;
    },
    claim(one) {
      claims = withClaim(claims, one);
    },
    unclaim(siteId) {
      claims = claims.filter(({ site }) => site.id !== siteId);
    },
    settle,
    stop() {
      retry?.cancel();
      listener?.close();
    },
  };
}

/** Returns the first claim. If several endpoints share the port, chooses one at random. */
function chooseSite(claims: readonly PortClaim[], random: () => number): ConnectionSite | undefined {
  const first = claims[0]?.site;
  if (first?.pooled !== true || claims.length === 1) return first;
  const all = claims.filter(({ site }) => arePooled(first, site));
  // Visitors are already spread over the edges, so each edge prefers its own agents.
  const near = all.filter(({ isElsewhere }) => !isElsewhere);
  const pool = near.length > 0 ? near : all;
  return pool[Math.floor(random() * pool.length)]?.site;
}

/** Whether two sites may share one port. */
export function arePooled(one: ConnectionSite, other: ConnectionSite): boolean {
  return one.pooled === true && other.pooled === true && one.accountId === other.accountId;
}

/** Adds a claim. Configuration comes before agents, whose claims fail because they lose the address. */
function withClaim(claims: readonly PortClaim[], one: PortClaim): readonly PortClaim[] {
  const before = claims.find(({ site }) => site.id === one.site.id);
  if (before) return claims.map((claim) => (claim === before ? one : claim));
  if (one.failed) return [...claims, one];
  return [...claims.filter(({ failed }) => !failed), one, ...claims.filter(({ failed }) => failed)];
}

function failureOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === "EADDRINUSE") return "another program on the server uses the port";
  if (code === "EACCES") return "the server has no permission for ports below 1024";
  return message;
}
