/** Finds what caused a difference: the first step that differs, and the changed object behind it. */
import type { ResourceObject } from "../schema/object.ts";
import type { RoutingChange } from "../routing/planes/messages.ts";
import type { Cause } from "../routing/planes/backtests.ts";
import type { Step } from "../traffic/step.ts";
import type { ReplayedExchange } from "./replayed-exchange.ts";

const ruleLabel = /^on_\w+\[\d+\](?: "(?:[^"\\]|\\.)*")?/;

export function causeOf(
  before: ReplayedExchange,
  after: ReplayedExchange,
  changes: ReadonlyMap<string, RoutingChange>,
): Cause {
  const [one, other] = firstDifference(before.steps, after.steps);
  // A removed module has no step with the candidate, so the step of the next module differs.
  const isRemoved = isMissing(one, after);
  const isAdded = isMissing(other, before);
  const step = isRemoved && !isAdded ? one : (other ?? one);
  const module = step?.by ?? "response";
  const rule = ruleLabel.exec(step?.reason ?? "")?.[0] ?? "";
  return { module, rule, object: findChangedObject(step, before, after, changes) };
}

/** Whether the exchange lacks the module of the step. That a backend is reached or not is never the cause. */
function isMissing(step: Step | undefined, { steps }: ReplayedExchange): boolean {
  return step !== undefined && step.by !== "backend" && !steps.some(({ by }) => by === step.by);
}

function firstDifference(one: readonly Step[], other: readonly Step[]): readonly [Step | undefined, Step | undefined] {
  for (let at = 0; at < Math.max(one.length, other.length); at += 1) {
    const [before, after] = [one[at], other[at]];
    if (before?.by !== after?.by || before?.outcome !== after?.outcome || before?.reason !== after?.reason) {
      return [before, after];
    }
  }
  return [undefined, undefined];
}

/** The object that decided, then the route and the edge, then an object that they refer to. */
function findChangedObject(
  step: Step | undefined,
  before: ReplayedExchange,
  after: ReplayedExchange,
  changes: ReadonlyMap<string, RoutingChange>,
): Cause["object"] {
  const ids = [step?.decidedBy?.id, after.routeId, before.routeId, after.siteId, before.siteId];
  for (const id of ids) {
    const change = id === undefined ? undefined : changes.get(id);
    if (change !== undefined) return { kind: change.kind, id: change.id };
  }
  for (const { kind, id, object } of changes.values()) {
    if (ids.some((owner) => owner !== undefined && isOwnedBy(object, owner))) return { kind, id };
  }
  const [first] = changes.values();
  return first && { kind: first.kind, id: first.id };
}

function isOwnedBy(object: ResourceObject | null, owner: string): boolean {
  return object !== null && Object.values(object.doc).includes(owner);
}
