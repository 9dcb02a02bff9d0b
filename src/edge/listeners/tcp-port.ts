/** One public TCP port: who wants it, and the listener that it has for as long as somebody does. */
import type { Socket } from "node:net";
import { letGo } from "../../lib/boundary.ts";
import type { Timer } from "../../lib/clock.ts";
import type { ConnectionFacts } from "../../traffic/exchange.ts";
import type { ConnectionSite } from "../../routing/sites/compiled.ts";
import type { Admission } from "./admission.ts";
import type { Arrival } from "./arrival.ts";
import { startListener } from "./listener.ts";
import type { Listener, PublicListenerContext } from "./listener.ts";

/** Who wants a port; the first is served. */
export interface Claim {
  readonly site: ConnectionSite;
  /** Of an agent's endpoint: called at most once, when the port cannot be had. */
  readonly failed: ((why: string) => void) | undefined;
  /** The endpoint's agent is connected to another edge. */
  readonly isElsewhere: boolean;
}

/** What all ports of an edge share. */
export interface TcpPortContext extends PublicListenerContext {
  /** Every address of the machine unless given. */
  readonly host: string | undefined;
  readonly admission: Admission;
  /** Nothing is listened on any more. */
  readonly isStopped: () => boolean;
  admits(site: ConnectionSite, source: string): boolean;
  serve(socket: Socket, facts: ConnectionFacts, site: ConnectionSite): void;
  /** 0 up to, and without, 1. */
  random(): number;
  /** Nobody wants the port any more, and nothing listens there. */
  unused(number: number): void;
  /** Listening was tried again, and may have succeeded. */
  retried(): void;
}

export interface TcpPort {
  /** In the order of precedence. */
  readonly claims: readonly Claim[];
  /** Why it cannot be listened on. */
  readonly failure: string | undefined;
  /** Replaces what the same site has claimed before. */
  claim(one: Claim): void;
  unclaim(siteId: string): void;
  /** Listens where somebody wants it, else not; tries again while it cannot be had. */
  settle(): Promise<void>;
  /** Listens no more. */
  stop(): void;
}

const retryMs = 5000;

export function makeTcpPort(number: number, context: TcpPortContext): TcpPort {
  const { clock, log } = context;
  let claims: readonly Claim[] = [];
  let listener: Listener | undefined;
  let isStarting = false;
  let failure: string | undefined;
  let retry: Timer | undefined;

  const accept = (arrival: Arrival): void => {
    const site = chosen(claims, context.random);
    // R4: decided before a byte is read
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
      letGo("timer", settle().then(context.retried));
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

/** The first that wants the port; of several endpoints that share it, one at random. */
function chosen(claims: readonly Claim[], random: () => number): ConnectionSite | undefined {
  const first = claims[0]?.site;
  if (first?.pooled !== true || claims.length === 1) return first;
  const all = claims.filter(({ site }) => arePooled(first, site));
  // Visitors are spread over the edges: each has its own agents serve them, where it has any.
  const near = all.filter(({ isElsewhere }) => !isElsewhere);
  const pool = near.length > 0 ? near : all;
  return pool[Math.floor(random() * pool.length)]?.site;
}

/** Whether the two, which want one port, have it beside one another. */
export function arePooled(one: ConnectionSite, other: ConnectionSite): boolean {
  return one.pooled === true && other.pooled === true && one.accountId === other.accountId;
}

/** Configuration comes before agents, which are told that their address is gone. */
function withClaim(claims: readonly Claim[], one: Claim): readonly Claim[] {
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
