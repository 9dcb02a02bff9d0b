/** Ports of this machine that `postern dev` serves for services published in the console, without a terminal. */
import type { Agent } from "../../agent/agent.ts";
import type { TunnelOptions } from "../../agent/tunnel-options.ts";
import { TunnelFailure } from "../../agent/tunnel-set.ts";
import { parseUpstream } from "../../agent/upstream.ts";
import { runUnattended } from "../../lib/boundary.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { PosternConnectionError, PosternError } from "../../../sdk/src/index.ts";
import type { Postern } from "../../../sdk/src/index.ts";

/** The metadata of a backend that asks for a port. The console writes it. */
const wanted = /^postern dev serves port (\d{1,5})$/;
const filter = `obj.metadata.startsWith("postern dev serves port ")`;
/** Maximum number of services. */
const most = 50;
const everyMs = 1_000;

interface ServedPortsOptions {
  readonly postern: Postern;
  readonly agent: Pick<Agent, "add" | "remove">;
  /** Returns the tunnel's options for the agent. */
  readonly prepare: (tunnel: TunnelOptions) => Promise<TunnelOptions>;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Keeps one tunnel for each backend whose metadata asks for a port. A tunnel ends when its backend does. Only for a
 * server that no other machine can reach: anyone who may write a backend can publish any loopback port.
 */
export function serveWantedPorts({ postern, agent, prepare, clock, log }: ServedPortsOptions): { stop(): void } {
  /** Names of the running tunnels. */
  const running = new Set<string>();
  let seen: unknown;
  let isBusy = false;

  const look = async (): Promise<void> => {
    const { revision } = (await postern.revisions.list({ limit: 1 }).page()).items[0] ?? {};
    if (revision === seen) return;
    const { items } = await postern.backends.tunnelGroup.list({ limit: most, filter }).page();
    // Backends with the same labels and port share a tunnel.
    const asked = new Map(
      items.flatMap(({ metadata, labels }) => {
        const port = wanted.exec(metadata)?.[1];
        if (port === undefined || Number(port) < 1 || Number(port) > 65_535) return [];
        return [[nameOf(port, labels), { port, labels }] as const];
      }),
    );
    for (const name of running) {
      if (asked.has(name)) continue;
      await agent.remove(name);
      running.delete(name);
    }
    for (const [name, { port, labels }] of asked) {
      if (running.has(name)) continue;
      const publish = { kind: "labels", labels } as const;
      await agent.add(await prepare({ name, upstream: parseUpstream(port), metadata: "postern dev", publish }));
      running.add(name);
    }
    seen = revision;
  };
  const lookOnce = async (): Promise<void> => {
    if (isBusy) return;
    isBusy = true;
    try {
      await look();
    } catch (error) {
      // The next look tries again.
      if (!isExpected(error)) throw error;
      log.debug("port not served", { reason: error.message });
    } finally {
      isBusy = false;
    }
  };
  const timer = clock.every(everyMs, () => runUnattended("timer", lookOnce()));
  return { stop: () => timer.cancel() };
}

function isExpected(error: unknown): error is Error {
  return error instanceof TunnelFailure || error instanceof PosternError || error instanceof PosternConnectionError;
}

function nameOf(port: string, labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map((pair) => pair.join("="));
  return `port ${port} for ${pairs.toSorted().join(", ")}`;
}
