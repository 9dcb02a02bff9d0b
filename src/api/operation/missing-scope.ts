import { Refusal } from "../../lib/errors.ts";
import type { StoredObject } from "../../storage/store.ts";
import type { Operation } from "./call.ts";
import type { KeyScope } from "./scope.ts";

/**
 * Returns the refusal for an operation that a limited key may not call.
 * @param scope that the key would need
 */
export function refuseMissingScope({ id }: Operation, scope: string, why = `it needs the scope "${scope}"`): Refusal {
  return new Refusal("scope_missing", `${id}: the API key is limited: ${why}`, { scope });
}

/** Returns the scope that an object with this metadata needs. */
export function scopeOf(metadata: unknown): string {
  return `metadata:${typeof metadata === "string" ? metadata.slice(0, 64) : ""}`;
}

/** Returns the scope that the key lacks to see the object. */
export function scopeFor({ kinds }: KeyScope, { kind, doc }: Pick<StoredObject, "kind" | "doc">): string {
  return kinds && !kinds.has(kind) ? `type:${kind}` : scopeOf(doc["metadata"]);
}
