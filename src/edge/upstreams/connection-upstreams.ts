/** Opens streams for whole connections by an upstream plan: to a tunnel or an address, with retries elsewhere. */
import { makeContained } from "../../lib/boundary.ts";
import { discardingReceiver } from "../../lib/io/byte-stream.ts";
import type { ByteStream } from "../../lib/io/byte-stream.ts";
import { Refusal } from "../../lib/errors.ts";
import type { RefusalName } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import { socketStream } from "../../lib/io/socket-stream.ts";
import type { Socket } from "node:net";
import type { ConnectionFacts } from "../../traffic/connection-facts.ts";
import { skipStep } from "../../traffic/step.ts";
import type { Step } from "../../traffic/step.ts";
import type { ConnectionSite } from "../../routing/sites/compiled-site.ts";
import type { PendingStream, ProxyHeader } from "../../tunnel/server-hooks.ts";
import { dialAddress } from "./dial.ts";
import type { DialOptions } from "./dial.ts";
import { makePicker } from "./pick.ts";
import type { Circumstances, StaticPlan } from "./pick.ts";
import type { AgentRegistry } from "../agents/registry.ts";
import type { Tunnel } from "../agents/tunnels/tunnel.ts";
import { proxyPreamble } from "./proxy-preamble.ts";

export interface ConnectionUpstreamsOptions {
  readonly registry: Pick<AgentRegistry, "tunnel" | "group" | "pool">;
  /** Options for dialling static addresses. */
  readonly dial: DialOptions;
  readonly log: Log;
  /** Number of connections that use the tunnel now. */
  readonly load: (tunnel: Tunnel) => number;
}

/** A stream to an upstream. `tunnel` is undefined for an address. */
export interface Opened {
  readonly stream: ByteStream;
  readonly tunnel: Tunnel | undefined;
}

export interface ConnectionUpstreams {
  /**
   * Opens a stream for a connection to `site`, and tries another tunnel or address if one fails. Calls `done` once, now
   * or later, with undefined if no stream could be opened. Adds the decisions to `steps`. Checks `isOver` between
   * tries.
   * @returns withdraws the pending opening, because an unused stream counts towards the agent's maximum
   */
  open(
    site: ConnectionSite,
    facts: ConnectionFacts,
    steps: Step[],
    isOver: () => boolean,
    done: (opened: Opened | undefined) => void,
  ): () => void;
}

const maxTries = 3;
const edgeTypes = {
  tls_edge: "tls_edge",
  tcp_edge: "tcp_edge",
  tls_endpoint: "endpoint",
  tcp_endpoint: "endpoint",
} as const;

export function makeConnectionUpstreams(options: ConnectionUpstreamsOptions): ConnectionUpstreams {
  const { pick } = makePicker(options.registry);
  return {
    open(site, facts, steps, isOver, done) {
      const plan = site.upstream;
      if (!plan) {
        done(undefined);
        return () => {};
      }
      let pending: PendingStream | undefined;
      const tried = new Set<Tunnel | StaticPlan>();
      const circumstances: Circumstances = {
        load: options.load,
        isTried: (place) => tried.has(place),
        steps,
        dry: false,
      };
      let isDone = false;
      const finish = (opened: Opened | undefined): void => {
        isDone = true;
        done(opened);
      };
      /** A step that throws leaves the connection without an upstream. */
      const step = <Given extends readonly unknown[]>(run: (...given: Given) => void): ((...given: Given) => void) =>
        makeContained("connection", run, () => {
          if (!isDone) finish(undefined);
        });
      const tryNext = (): void => {
        const place = tried.size < maxTries && !isOver() ? pick(plan, circumstances) : undefined;
        if (place && "session" in place) {
          tried.add(place);
          const take = (stream: ByteStream | undefined, why: RefusalName = "tunnel_gone"): void => {
            pending = undefined;
            if (stream) {
              finish({ stream, tunnel: place });
              return;
            }
            steps.push(skipStep("backend", `no stream could be opened: ${why}`));
            tryNext();
          };
          const opening = place.session.openProxy(headerOf(place, site, facts), step(take));
          if (opening) pending = opening;
        } else if (place && "host" in place) {
          tried.add(place);
          const take = (result: Socket | Error): void => {
            pending = undefined;
            if (result instanceof Error) {
              options.log.info("static backend unreachable", { backend: place.id, why: result });
              if (result instanceof Refusal) steps.push(skipStep("backend", result.message));
              tryNext();
            } else {
              finish({ stream: socketStream(result, discardingReceiver, true), tunnel: undefined });
            }
          };
          const dialling = dialAddress(place, site.accountId, { ...options.dial, http: false }, step(take));
          if (dialling) pending = dialling;
        } else {
          finish(undefined);
        }
      };
      step(tryNext)();
      return () => void pending?.withdraw();
    },
  };
}

function headerOf(tunnel: Tunnel, site: ConnectionSite, facts: ConnectionFacts): ProxyHeader {
  const { source, sourcePort } = facts;
  const preamble = proxyPreamble(tunnel.proxyProtocol, facts);
  const proto = site.kind === "tls_edge" || site.kind === "tls_endpoint" ? "tls" : "tcp";
  return {
    tunnelId: tunnel.id,
    clientAddress: source.includes(":") ? `[${source}]:${sourcePort}` : `${source}:${sourcePort}`,
    proto,
    edgeType: edgeTypes[site.kind],
    passthroughTls: proto === "tls" && facts.tls === undefined,
    ...(preamble && { preamble }),
  };
}
