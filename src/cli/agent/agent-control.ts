/** What the local API may have a running agent do. */
import type { Agent } from "../../agent/agent.ts";
import type { TunnelOptions } from "../../agent/tunnel.ts";
import { TunnelFailure } from "../../agent/tunnels.ts";
import type { AgentControl } from "../../inspector/agent-control.ts";
import { LocalRefusal } from "../../inspector/local-refusal.ts";
import { askedTunnels } from "./asked-tunnels.ts";

/**
 * @param prepare the tunnel as the agent is to have it
 * @param isKnown whether there is a tunnel of this name
 * @param end ends the agent
 */
export function controlOf(
  agent: Pick<Agent, "add" | "remove">,
  prepare: (tunnel: TunnelOptions) => TunnelOptions,
  isKnown: (name: string) => boolean,
  end: () => void,
): AgentControl {
  return {
    async start(body, form) {
      const { tunnels, issues } = askedTunnels(body, form);
      if (issues.length > 0) throw new LocalRefusal("invalid_tunnel", issues.join("; "));
      const taken = tunnels.find(({ name }) => isKnown(name));
      if (taken) throw new LocalRefusal("invalid_tunnel", `tunnel "${taken.name}" already exists`);
      const started: string[] = [];
      try {
        // What one entry asks for is there as a whole, or not at all.
        for (const tunnel of tunnels) {
          await agent.add(prepare(tunnel));
          started.push(tunnel.name);
        }
      } catch (error) {
        for (const name of started) await agent.remove(name);
        if (!(error instanceof TunnelFailure)) throw error;
        throw error.isOffline ? new LocalRefusal("not_ready", offline) : new LocalRefusal("not_started", error.message);
      }
      return started[0] as string;
    },
    stop: (name) => agent.remove(name),
    end,
  };
}

/** In the words by which scripts know that they are to try again. */
const offline = "a successful ngrok tunnel session has not yet been established";
