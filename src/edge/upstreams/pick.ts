/** Chooses the tunnel, address or fixed answer of a plan, and records the steps of the decision. */
import type { McpSession } from "../../traffic/mcp-session.ts";
import type { Answer, Step } from "../../traffic/step.ts";
import { answerStep, passStep, skipStep } from "../../traffic/step.ts";
import type { BackendPlan, Beside, UpstreamPlan } from "../../traffic/upstream-plan.ts";
import type { GroupPlan } from "../agents/register/tunnel-groups.ts";
import type { AgentRegistry } from "../agents/registry.ts";
import { markOfTunnel } from "../agents/tunnels/tunnel-mark.ts";
import type { Tunnel } from "../agents/tunnels/tunnel.ts";

export type StaticPlan = Extract<UpstreamPlan, { kind: "static" }>;
type FixedPlan = Extract<UpstreamPlan, { kind: "http_response" }>;

/** Result of a plan: a tunnel has `session`, an address has `host`, anything else is an answer. */
export type Picked = Tunnel | StaticPlan | Answer;

/** Inputs of a choice besides the plan. */
export interface Circumstances {
  /** Number of requests or connections that use the tunnel. */
  readonly load: (tunnel: Tunnel) => number;
  readonly isTried: (place: Tunnel | StaticPlan) => boolean;
  /** The MCP session whose agent must serve the request. */
  readonly session?: McpSession | undefined;
  /** Receives the decisions in order: the backends that were skipped, then the chosen one. */
  readonly steps: Step[];
  /** Whether this is only a preview, which does not affect the next choice. */
  readonly dry: boolean;
}

export interface Picker {
  /** Returns `backend_empty`, `tunnel_gone`, `mcp_session_gone` or `upstream_refused` if nothing is left. */
  readonly pick: (plan: UpstreamPlan, attempt: Circumstances) => Picked;
}

const tunnelGone: Answer = Object.freeze({ error: "tunnel_gone" as const });
const upstreamRefused: Answer = Object.freeze({ error: "upstream_refused" as const });
const backendEmpty: Answer = Object.freeze({ error: "backend_empty" as const });

const sessionGone: Answer = Object.freeze({ error: "mcp_session_gone" as const });

/** An agent's endpoint. */
type TunnelPlan = Extract<UpstreamPlan, { kind: "tunnel" }>;

export function makePicker(registry: Pick<AgentRegistry, "tunnel" | "group" | "pool">): Picker {
  const turns = new WeakMap<UpstreamPlan, number[]>();
  const tunnelSteps = new WeakMap<UpstreamPlan, WeakMap<Tunnel, Step>>();
  const planSteps = new WeakMap<UpstreamPlan, Step>();

  const taken = (plan: UpstreamPlan, tunnel: Tunnel): Step => {
    let steps = tunnelSteps.get(plan);
    if (!steps) tunnelSteps.set(plan, (steps = new WeakMap()));
    let step = steps.get(tunnel);
    if (!step) {
      const reason = `sent through tunnel ${tunnel.id} of session ${tunnel.session.id}`;
      step = Object.freeze({ ...passStep("backend", reason, nameDecider(plan)), tunnelId: tunnel.id });
      steps.set(tunnel, step);
    }
    return step;
  };
  const once = (plan: BackendPlan, make: () => Step): Step => {
    let step = planSteps.get(plan);
    if (!step) planSteps.set(plan, (step = make()));
    return step;
  };
  const toTunnel = (plan: UpstreamPlan, tunnel: Tunnel | undefined, { steps, isTried }: Circumstances): Picked => {
    if (!tunnel || isTried(tunnel)) {
      steps.push(skipPlan(plan, tunnel ? "each of its tunnels was tried" : "its tunnel is gone"));
      return tunnelGone;
    }
    steps.push(taken(plan, tunnel));
    return tunnel;
  };
  /**
   * Chooses the tunnel with the fewest requests in flight. Equal tunnels take turns, because each search starts one
   * further. Other edges' tunnels are a fallback, because visitors are already spread over the edges.
   */
  const fromGroup = (plan: GroupPlan, attempt: Circumstances): Picked => {
    const group = registry.group(plan);
    const { members, localCount } = group;
    const hasLocal = localCount > 0;
    if (members.length === 0) {
      attempt.steps.push(skipPlan(plan, "no tunnel with its labels is online"));
      return backendEmpty;
    }
    const turn = (group.turn + 1) % members.length;
    if (!attempt.dry) group.turn = turn;
    let best: Tunnel | undefined;
    let least = Infinity;
    for (let step = 0; step < members.length && least > 0; step += 1) {
      const tunnel = members[(turn + step) % members.length] as Tunnel;
      const load = attempt.load(tunnel);
      if (tunnel.isElsewhere && hasLocal) continue;
      if (load >= least || attempt.isTried(tunnel)) continue;
      best = tunnel;
      least = load;
    }
    if (!best && hasLocal) best = members.find((tunnel) => tunnel.isElsewhere && !attempt.isTried(tunnel));
    return toTunnel(plan, best ?? members[0], attempt);
  };
  const ofSession = (plan: UpstreamPlan, tunnel: Tunnel | undefined, { steps }: Circumstances): Picked => {
    steps.push(tunnel ? taken(plan, tunnel) : skipPlan(plan, "the agent of the MCP session is not connected"));
    return tunnel ?? sessionGone;
  };
  const pick = (plan: UpstreamPlan, attempt: Circumstances): Picked => {
    const wanted = attempt.session?.wanted;
    switch (plan.kind) {
      case "tunnel":
        if (wanted !== undefined) return ofSession(plan, sessionTunnel(registry, plan, wanted, attempt), attempt);
        return toTunnel(plan, endpointTunnel(registry, plan, attempt), attempt);
      case "tunnel_group":
        if (wanted !== undefined) return ofSession(plan, sessionTunnel(registry, plan, wanted, attempt), attempt);
        return fromGroup(plan, attempt);
      case "failover":
        return firstThatServes(plan.members, (member) => pick(member, attempt));
      case "weighted": {
        let state = turns.get(plan);
        if (!state) turns.set(plan, (state = plan.members.map(() => 0)));
        const order = byWeight(plan.members, attempt.dry ? state.slice() : state);
        return firstThatServes(order, (member) => pick(member.plan, attempt));
      }
      case "http_response":
        return answerFixed(plan, attempt, once);
      case "static": {
        if (attempt.isTried(plan)) {
          attempt.steps.push(skipPlan(plan, "its address was tried"));
          return upstreamRefused;
        }
        const { host, port, tls } = plan;
        attempt.steps.push(
          once(plan, () => passStep("backend", `sent to ${tls ? "tls" : "tcp"} ${host}:${port}`, nameDecider(plan))),
        );
        return plan;
      }
    }
  };
  return { pick };
}

function answerFixed(
  plan: FixedPlan,
  { steps }: Circumstances,
  once: (plan: FixedPlan, make: () => Step) => Step,
): Answer {
  const { status, headers, body } = plan;
  const answer: Answer = { status, headers, body };
  steps.push(
    once(plan, () => answerStep("backend", `answered ${status} without an upstream`, answer, nameDecider(plan))),
  );
  return answer;
}

/** Returns the tunnels that do the same as the endpoint's own one. */
function findAlike(registry: Pick<AgentRegistry, "pool">, { name, likeness }: Beside): readonly Tunnel[] {
  return registry.pool(name).filter(({ endpoint }) => endpoint?.beside?.likeness === likeness);
}

/** Returns the endpoint's own tunnel, or another of its tunnels if that one is offline or was tried. */
function endpointTunnel(
  registry: Pick<AgentRegistry, "tunnel" | "pool">,
  { id, beside }: TunnelPlan,
  { isTried }: Circumstances,
): Tunnel | undefined {
  const own = registry.tunnel(id);
  if (beside === undefined || (own && !isTried(own))) return own;
  return findAlike(registry, beside).find((one) => !isTried(one)) ?? own;
}

/** Returns a tunnel of the agent that began the MCP session. No other agent knows the session. */
function sessionTunnel(
  registry: Parameters<typeof makePicker>[0],
  plan: TunnelPlan | GroupPlan,
  wanted: string,
  { isTried }: Circumstances,
): Tunnel | undefined {
  const fits = (tunnel: Tunnel): boolean => markOfTunnel(tunnel) === wanted && !isTried(tunnel);
  if (plan.kind === "tunnel_group") return registry.group(plan).members.find(fits);
  const own = registry.tunnel(plan.id);
  if (own && fits(own)) return own;
  return plan.beside && findAlike(registry, plan.beside).find(fits);
}

function nameDecider(plan: UpstreamPlan): Step["decidedBy"] {
  return plan.kind === "tunnel" ? undefined : { kind: `${plan.kind}_backend`, id: plan.id, revision: plan.revision };
}

function skipPlan(plan: UpstreamPlan, why: string): Step {
  return skipStep("backend", why, nameDecider(plan));
}

/** Tries the members in order until one returns an upstream. Otherwise returns the last result. */
function firstThatServes<T>(members: readonly T[], pick: (member: T) => Picked): Picked {
  let last: Picked = backendEmpty;
  for (const member of members) {
    last = pick(member);
    if (!("error" in last)) return last;
  }
  return last;
}

/**
 * Orders the members by smooth weighted round robin: each gains its weight, and the chosen one pays the total. Members
 * of weight 0 get nothing.
 */
function byWeight<T extends { readonly weight: number }>(members: readonly T[], state: number[]): readonly T[] {
  let sum = 0;
  let best = -1;
  for (let index = 0; index < members.length; index += 1) {
    const { weight } = members[index] as T;
    if (weight <= 0) continue;
    sum += weight;
    state[index] = (state[index] as number) + weight;
    if (best < 0 || (state[index] as number) > (state[best] as number)) best = index;
  }
  if (best < 0) return [];
  state[best] = (state[best] as number) - sum;
  const first = members[best] as T;
  return [first, ...members.filter((member) => member !== first && member.weight > 0)];
}
