/** What an API key is limited to. */
import type { StoredObject } from "../../storage/store.ts";

export interface Scope {
  readonly write: boolean;
  /** May see secrets; they are masked otherwise. */
  readonly secrets: boolean;
  /** May ask agents what they have kept of requests. */
  readonly exchanges: boolean;
  /** Kinds; absent: all. */
  readonly kinds: ReadonlySet<string> | undefined;
  /** Of the metadata of objects; absent: all objects. */
  readonly prefixes: readonly string[] | undefined;
}

/** Undefined for a key that is not limited. */
export function readScopes(scopes: readonly string[] | undefined): Scope | undefined {
  if (!scopes || scopes.length === 0) return undefined;
  const named = (word: string): string[] =>
    scopes.flatMap((scope) => (scope.startsWith(`${word}:`) ? [scope.slice(word.length + 1)] : []));
  const [kinds, prefixes] = [named("type"), named("metadata")];
  return {
    // Without a word on reading or writing it is both.
    write: scopes.includes("write") || !scopes.includes("read"),
    secrets: scopes.includes("secrets"),
    exchanges: scopes.includes("exchanges"),
    kinds: kinds.length === 0 || kinds.includes("*") ? undefined : new Set(kinds),
    prefixes: prefixes.length === 0 || prefixes.includes("") ? undefined : prefixes,
  };
}

const words = ["write", "secrets", "exchanges"] as const;

/** Whether a key with `inner` can do nothing that one with `outer` cannot. */
export function isWithin(inner: Scope | undefined, outer: Scope | undefined): boolean {
  if (!outer) return true;
  if (!inner || words.some((word) => inner[word] && !outer[word])) return false;
  const { kinds, prefixes } = outer;
  if (kinds && !(inner.kinds && [...inner.kinds].every((kind) => kinds.has(kind)))) return false;
  return !prefixes || (inner.prefixes?.every((prefix) => prefixes.some((wide) => prefix.startsWith(wide))) ?? false);
}

/** Whether a key of the scope may see every object of its account. */
export function seesEverything(scope: Pick<Scope, "kinds" | "prefixes"> | undefined): boolean {
  return !scope?.kinds && !scope?.prefixes;
}

/** Whether a key of the scope may see the object. */
export function isVisible(
  scope: Pick<Scope, "kinds" | "prefixes"> | undefined,
  object: Pick<StoredObject, "kind" | "doc">,
): boolean {
  if (scope?.kinds && !scope.kinds.has(object.kind)) return false;
  return !scope?.prefixes || hasPrefix(scope.prefixes, object.doc["metadata"]);
}

/** Whether a key of the scope may read secrets, and values that may hold one. */
export function seesSecrets(scope: Scope | undefined): boolean {
  return scope?.secrets ?? true;
}

export function hasPrefix(prefixes: readonly string[], metadata: unknown): boolean {
  return typeof metadata === "string" && prefixes.some((prefix) => metadata.startsWith(prefix));
}
