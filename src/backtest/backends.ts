/** Chooses backends as recorded: which agents were online, and whose turn it was, is not part of the configuration. */
import { passStep } from "../traffic/step.ts";
import type { FixedAnswer, Step } from "../traffic/step.ts";
import type { UpstreamPlan } from "../traffic/upstream-plan.ts";

export interface Chosen {
  readonly id: string;
  readonly step: Step;
  /** Set for a backend that answers itself. */
  readonly answer: FixedAnswer | undefined;
}

const known = new WeakMap<UpstreamPlan, Chosen>();

/** Returns the recorded backend if the plan has it, otherwise the plan's first. */
export function chooseBackend(plan: UpstreamPlan, recordedId: string | undefined): Chosen {
  const leaf = (recordedId === undefined ? undefined : leafOf(plan, recordedId)) ?? firstLeaf(plan);
  let chosen = known.get(leaf);
  if (chosen === undefined) known.set(leaf, (chosen = chosenAs(leaf)));
  return chosen;
}

function leafOf(plan: UpstreamPlan, id: string): UpstreamPlan | undefined {
  if (plan.kind === "failover") return firstOf(plan.members, id);
  if (plan.kind === "weighted") {
    return firstOf(
      plan.members.filter(({ weight }) => weight > 0).map((member) => member.plan),
      id,
    );
  }
  return plan.id === id ? plan : undefined;
}

function firstOf(members: readonly UpstreamPlan[], id: string): UpstreamPlan | undefined {
  for (const member of members) {
    const found = leafOf(member, id);
    if (found !== undefined) return found;
  }
  return undefined;
}

function firstLeaf(plan: UpstreamPlan): UpstreamPlan {
  if (plan.kind === "failover") {
    const [first] = plan.members;
    return first === undefined ? plan : firstLeaf(first);
  }
  if (plan.kind === "weighted") {
    const heaviest = plan.members.reduce<(typeof plan.members)[number] | undefined>(
      (best, member) => (best === undefined || member.weight > best.weight ? member : best),
      undefined,
    );
    return heaviest === undefined ? plan : firstLeaf(heaviest.plan);
  }
  return plan;
}

function chosenAs(plan: UpstreamPlan): Chosen {
  const decider =
    plan.kind === "tunnel" ? undefined : { kind: `${plan.kind}_backend`, id: plan.id, revision: plan.revision };
  const step = passStep("backend", `sent to backend ${plan.id}`, decider);
  if (plan.kind !== "http_response") return { id: plan.id, step, answer: undefined };
  const { status, headers, body } = plan;
  return { id: plan.id, step, answer: { status, headers, body } };
}
