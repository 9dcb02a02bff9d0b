/** Our own agent as `postern http` runs it: it reconnects automatically and reports its state. */
import { startAgent } from "../../src/agent/agent.ts";
import type { AgentOptions, AgentStatus } from "../../src/agent/agent-options.ts";
import type { TunnelOptions, TunnelStatus } from "../../src/agent/tunnel-options.ts";
import type { AgentEnd } from "../../src/agent/end.ts";
import type { WatchedRequest } from "../../src/agent/request-watch.ts";
import { parseUpstream } from "../../src/agent/upstream.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLog } from "../../src/lib/log.ts";

export interface OurAgentOptions {
  readonly upstream: string | number;
  readonly url?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly metadata?: string;
  readonly token?: string;
  /** Whether to return before the agent is online. */
  readonly offline?: boolean;
  readonly agent?: Partial<AgentOptions>;
  readonly tunnel?: Partial<TunnelOptions>;
}

export interface OurAgent {
  /** URL of the last time that the agent was online. */
  readonly url: string;
  readonly ended: Promise<AgentEnd>;
  readonly statuses: readonly AgentStatus[];
  readonly requests: readonly WatchedRequest[];
  /** Resolves when the agent is online for the `count`th time. */
  online(count?: number): Promise<void>;
  close(): Promise<void>;
}

/** @param at port of the agent listener on loopback, and a token that the listener accepts */
export async function startOurAgent(
  at: { readonly port: number; readonly ca: string; readonly token: string },
  options: OurAgentOptions,
): Promise<OurAgent> {
  const statuses: AgentStatus[] = [];
  const requests: WatchedRequest[] = [];
  const waiting: { readonly count: number; readonly done: () => void }[] = [];
  let url = "";
  let timesOnline = 0;
  const tunnelStatus = (status: TunnelStatus): void => {
    if (status.state !== "online") return;
    url = status.url ?? "";
    timesOnline += 1;
    for (const one of waiting) if (timesOnline >= one.count) one.done();
  };
  const agent = startAgent({
    server: { host: "127.0.0.1", port: at.port },
    ca: at.ca,
    token: options.token ?? at.token,
    metadata: options.metadata ?? "",
    tunnels: [
      {
        name: "test",
        upstream: parseUpstream(String(options.upstream)),
        metadata: options.metadata ?? "",
        publish: options.labels ? { kind: "labels", labels: options.labels } : { kind: "url", url: options.url },
        status: tunnelStatus,
        request: (request) => requests.push(request),
        ...options.tunnel,
      },
    ],
    version: "0.0.0-test",
    clock: systemClock,
    log: silentLog,
    random: Math.random,
    retryFirst: false,
    status: (status) => statuses.push(status),
    ...options.agent,
  });
  const started: OurAgent = {
    get url() {
      return url;
    },
    ended: agent.ended,
    statuses,
    requests,
    async online(count = 1) {
      if (timesOnline >= count) return;
      await new Promise<void>((done) => waiting.push({ count, done }));
    },
    close: () => agent.close(),
  };
  if (!options.offline) {
    const end = await Promise.race([started.online(), started.ended]);
    if (end) throw new Error(`the agent gave up: ${end.reason}: ${end.message}`);
  }
  return started;
}
