/** Actions of the local API on a running agent. */
import type { Agent } from "../../agent/agent.ts";
import type { TunnelOptions } from "../../agent/tunnel-options.ts";
import { TunnelFailure } from "../../agent/tunnel-set.ts";
import type { AgentControl } from "../../inspector/agent-control.ts";
import { LocalRefusal } from "../../inspector/local-refusal.ts";
import { readAskedTunnels } from "./asked-tunnels.ts";

/**
 * @param tunnels tunnels at the start of the agent
 * @param prepare returns the tunnel's options for the agent
 * @param isKnown whether a tunnel with this name exists
 * @param end ends the agent
 */
export function controlOf(
  agent: Pick<Agent, "add" | "remove">,
  tunnels: readonly TunnelOptions[],
  prepare: (tunnel: TunnelOptions) => Promise<TunnelOptions>,
  isKnown: (name: string) => boolean,
  end: () => void,
): AgentControl {
  /** Requested tunnels in their original form, to request them again. Some may have ended. */
  const asked = new Map(tunnels.map((tunnel) => [tunnel.name, tunnel]));
  const add = async (tunnel: TunnelOptions): Promise<void> => {
    await agent.add(await prepare(tunnel));
    asked.set(tunnel.name, tunnel);
  };
  /** All tunnels of one entry are added, or none. */
  const addAll = async (tunnels: readonly TunnelOptions[]): Promise<void> => {
    const started: string[] = [];
    try {
      for (const tunnel of tunnels) {
        await add(tunnel);
        started.push(tunnel.name);
      }
    } catch (error) {
      for (const name of started) await agent.remove(name);
      if (!(error instanceof TunnelFailure)) throw error;
      throw error.isOffline
        ? new LocalRefusal("local_not_ready", offline)
        : new LocalRefusal("local_tunnel_refused", error.message);
    }
  };
  return {
    async start(body, form) {
      const tunnels = readTunnels(body, form);
      const taken = tunnels.find(({ name }) => isKnown(name));
      if (taken) throw new LocalRefusal("local_tunnel_invalid", `tunnel "${taken.name}" already exists`);
      await addAll(tunnels);
      return tunnels[0]?.name ?? "";
    },
    async replace(name, body, form) {
      const tunnels = readTunnels({ name, ...body }, form);
      if (tunnels[0]?.name !== name) {
        throw new LocalRefusal("local_tunnel_invalid", `"name" must be "${name}", as in the path, or absent`);
      }
      // A tunnel with two schemes is stored as two tunnels.
      const former = [name, `${name} (http)`].filter(isKnown).flatMap((one) => asked.get(one) ?? []);
      for (const one of former) await agent.remove(one.name);
      try {
        await addAll(tunnels);
      } catch (error) {
        for (const one of former) await add(one);
        throw error;
      }
      return former.length > 0;
    },
    stop: (name) => agent.remove(name),
    end,
  };
}

/** Throws `LocalRefusal`. */
function readTunnels(body: object, form: "tunnel" | "endpoint"): readonly TunnelOptions[] {
  const { tunnels, issues } = readAskedTunnels(body, form);
  if (issues.length > 0) throw new LocalRefusal("local_tunnel_invalid", issues.join("; "));
  return tunnels;
}

/** Scripts recognise this message and retry. */
const offline = "a successful ngrok tunnel session has not yet been established";
