/** The types of events that there are: three per resource that is stored, and those of traffic. */
import { trafficEventTypes } from "../../../resources/traffic-event-types.ts";
import type { TrafficEventType } from "../../../resources/traffic-event-types.ts";
import type { Change } from "../../../storage/store.ts";
import { resources } from "../../operation/declarations.ts";

const stored = resources.filter((resource) => !resource.live && !resource.internal);
const kinds = stored.map(({ name }) => name);

const ofChanges: ReadonlySet<string> = new Set(
  stored.flatMap(({ name, unrecorded }) =>
    // Of what comes and changes by itself only what a key does is in the history: deleting it.
    (unrecorded ? ["deleted"] : ["created", "updated", "deleted"]).map((verb) => `${name}_${verb}.v0`),
  ),
);
const ofTraffic: ReadonlySet<string> = new Set(trafficEventTypes);

/** What is wrong with a type, as the end of "must …"; undefined when nothing is. */
export function eventTypeIssue(type: string): string | undefined {
  if (ofChanges.has(type) || ofTraffic.has(type)) return undefined;
  const known = `${trafficEventTypes.join(", ")}, or <resource>_created.v0, _updated.v0 or _deleted.v0`;
  return `be ${known} with one of ${kinds.join(", ")}; is "${type.slice(0, 64)}"`;
}

/** Undefined for what has no events, such as the server's own notes. */
export function eventTypeOf({ kind, before, after }: Change): string | undefined {
  const type = `${kind}_${after ? (before ? "updated" : "created") : "deleted"}.v0`;
  return ofChanges.has(type) ? type : undefined;
}

/** The kinds of the objects whose changes the types are about. */
export function kindsOf(types: ReadonlySet<string>): readonly string[] {
  const changes = [...types].filter((type) => ofChanges.has(type));
  return [...new Set(changes.map((type) => type.replace(/_[a-z]+\.v0$/, "")))];
}

export function trafficTypesOf(types: ReadonlySet<string>): readonly TrafficEventType[] {
  return trafficEventTypes.filter((type) => types.has(type));
}
