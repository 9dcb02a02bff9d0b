/** What our own agent needs to keep its requests, as `postern http --inspector` has it, without a process of its own. */
import type { AgentOptions } from "../../src/agent/agent.ts";
import type { TunnelOptions } from "../../src/agent/tunnel.ts";
import { parseUpstream } from "../../src/agent/upstream.ts";
import { Inspector } from "../../src/inspector/inspector.ts";
import { keepExchanges } from "../../src/inspector/kept-exchanges.ts";
import { systemClock } from "../../src/lib/clock.ts";
import type { OurAgentOptions } from "./our-agent.ts";

/** The same options, with what keeps the requests of their tunnel. */
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
