/** The types of events: three per stored resource, and the types of traffic. */
import { trafficEventTypes } from "../../../resources/traffic-event-types.ts";
import type { TrafficEventType } from "../../../resources/traffic-event-types.ts";
import type { Change } from "../../../storage/store.ts";
import { resources } from "../../operation/resource-declarations.ts";

const stored = resources.filter((resource) => !resource.live && !resource.internal);
const kinds = stored.map(({ name }) => name);

const ofChanges: ReadonlySet<string> = new Set(
  stored.flatMap(({ name, unrecorded }) =>
    // For objects that the server manages, the history contains only the deletions by API keys.
    (unrecorded ? ["deleted"] : ["created", "updated", "deleted"]).map((verb) => `${name}_${verb}.v0`),
  ),
);
const ofTraffic: ReadonlySet<string> = new Set(trafficEventTypes);

/** Returns the problem of a type, as the end of "must …". Undefined if it is valid. */
export function eventTypeIssue(type: string): string | undefined {
  if (ofChanges.has(type) || ofTraffic.has(type)) return undefined;
  const known = `${trafficEventTypes.join(", ")}, or <resource>_created.v0, _updated.v0 or _deleted.v0`;
  return `be ${known} with one of ${kinds.join(", ")}; is "${type.slice(0, 64)}"`;
}

/** Returns undefined for objects without events, such as the server's internal records. */
export function eventTypeOf({ kind, before, after }: Change): string | undefined {
  const type = `${kind}_${after ? (before ? "updated" : "created") : "deleted"}.v0`;
  return ofChanges.has(type) ? type : undefined;
}

/** Returns the kinds of the objects whose changes the types describe. */
export function kindsOf(types: ReadonlySet<string>): readonly string[] {
  const changes = [...types].filter((type) => ofChanges.has(type));
  return [...new Set(changes.map((type) => type.replace(/_[a-z]+\.v0$/, "")))];
}

export function trafficTypesOf(types: ReadonlySet<string>): readonly TrafficEventType[] {
  return trafficEventTypes.filter((type) => types.has(type));
}
