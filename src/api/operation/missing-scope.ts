import { Refusal } from "../../lib/errors.ts";
import type { StoredObject } from "../../storage/store.ts";
import type { Operation } from "./call.ts";
import type { Scope } from "./scope.ts";

/** The refusal of what a limited key may not do. @param scope that it would need */
export function missing({ id }: Operation, scope: string, why = `it needs the scope "${scope}"`): Refusal {
  return new Refusal("scope_missing", `${id}: the API key is limited: ${why}`, { scope });
}

/** The scope that an object of such metadata needs. */
export function scopeOf(metadata: unknown): string {
  return `metadata:${typeof metadata === "string" ? metadata.slice(0, 64) : ""}`;
}

/** The scope that the key lacks for an object that it does not see. */
export function scopeFor({ kinds }: Scope, { kind, doc }: Pick<StoredObject, "kind" | "doc">): string {
  return kinds && !kinds.has(kind) ? `type:${kind}` : scopeOf(doc["metadata"]);
}
