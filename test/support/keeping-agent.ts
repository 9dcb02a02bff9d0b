/** Makes our own agent store its requests, as in `postern http --inspector`, without a separate process. */
import type { AgentOptions } from "../../src/agent/agent-options.ts";
import type { TunnelOptions } from "../../src/agent/tunnel-options.ts";
import { parseUpstream } from "../../src/agent/upstream.ts";
import { Inspector } from "../../src/inspector/inspector.ts";
import { keepExchanges } from "../../src/inspector/kept-exchanges.ts";
import { systemClock } from "../../src/lib/clock.ts";
import type { OurAgentOptions } from "./our-agent.ts";

/** Returns the same options, with a store for the requests of their tunnel. */
export async function keeping(options: OurAgentOptions): Promise<OurAgentOptions> {
  const inspector = new Inspector(systemClock);
  const given: TunnelOptions = {
    name: "test",
    upstream: parseUpstream(String(options.upstream)),
    metadata: "",
    publish: { kind: "url", url: options.url },
    ...options.tunnel,
  };
  const { opened, wantsTimes = false } = await inspector.watch(given, true);
  const exchanges = keepExchanges(inspector);
  const agent: Partial<AgentOptions> = {
    exchanges,
    requestTimes: (lines) => inspector.times.told(lines),
    ...options.agent,
  };
  return { ...options, agent, tunnel: { ...options.tunnel, wantsTimes, ...(opened && { opened }) } };
}
