import type { Doc } from "../../schema/parse.ts";

/** The one member of a destination's target that is set. */
export function targetOf(doc: Doc): { readonly name: string; readonly value: Doc } {
  for (const [name, value] of Object.entries(doc["target"] as Doc)) {
    if (value !== null) return { name, value: value as Doc };
  }
  throw new Error("read target: none is set");
}

/** Whether this server delivers to such targets. */
export function isSupported(name: string): boolean {
  return name === "webhook" || name === "file";
}
