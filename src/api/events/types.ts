/** The types of events that there are: three per resource that is stored. */
import { resources } from "../declarations.ts";
import type { Change } from "../../storage/store.ts";

const kinds = resources.filter((resource) => !resource.live && !resource.internal).map(({ name }) => name);

const known: ReadonlySet<string> = new Set(
  kinds.flatMap((kind) => ["created", "updated", "deleted"].map((verb) => `${kind}_${verb}.v0`)),
);

/** What is wrong with a type, as the end of "must …"; undefined when nothing is. */
export function eventTypeIssue(type: string): string | undefined {
  if (known.has(type)) return undefined;
  return `be <resource>_created.v0, _updated.v0 or _deleted.v0 with one of ${kinds.join(", ")}; is "${type.slice(0, 64)}"`;
}

/** Undefined for what has no events, such as the server's own notes. */
export function eventTypeOf({ kind, before, after }: Change): string | undefined {
  const type = `${kind}_${before ? (after ? "updated" : "deleted") : "created"}.v0`;
  return known.has(type) ? type : undefined;
}

/** The kind of the objects that a type of event is about. */
export function kindOfEvent(type: string): string {
  return type.replace(/_[a-z]+\.v0$/, "");
}
