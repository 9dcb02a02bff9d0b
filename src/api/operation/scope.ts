/** Limits of an API key. */
import type { StoredObject } from "../../storage/store.ts";

export interface KeyScope {
  readonly write: boolean;
  /** Whether the key may see secrets. If not, they are masked. */
  readonly secrets: boolean;
  /** Whether the key may request what agents have stored of requests. */
  readonly exchanges: boolean;
  /** Allowed kinds. Default: all. */
  readonly kinds: ReadonlySet<string> | undefined;
  /** Prefixes of the metadata of allowed objects. Default: all objects. */
  readonly prefixes: readonly string[] | undefined;
}

/** Returns undefined for a key without limits. */
export function readScopes(scopes: readonly string[] | undefined): KeyScope | undefined {
  if (!scopes || scopes.length === 0) return undefined;
  const named = (word: string): string[] =>
    scopes.flatMap((scope) => (scope.startsWith(`${word}:`) ? [scope.slice(word.length + 1)] : []));
  const [kinds, prefixes] = [named("type"), named("metadata")];
  return {
    // Without `read` or `write`, the key has both.
    write: scopes.includes("write") || !scopes.includes("read"),
    secrets: scopes.includes("secrets"),
    exchanges: scopes.includes("exchanges"),
    kinds: kinds.length === 0 || kinds.includes("*") ? undefined : new Set(kinds),
    prefixes: prefixes.length === 0 || prefixes.includes("") ? undefined : prefixes,
  };
}

const words = ["write", "secrets", "exchanges"] as const;

/** Whether a key with `inner` can do nothing that a key with `outer` cannot do. */
export function isWithin(inner: KeyScope | undefined, outer: KeyScope | undefined): boolean {
  if (!outer) return true;
  if (!inner || words.some((word) => inner[word] && !outer[word])) return false;
  const { kinds, prefixes } = outer;
  if (kinds && !(inner.kinds && [...inner.kinds].every((kind) => kinds.has(kind)))) return false;
  return !prefixes || (inner.prefixes?.every((prefix) => prefixes.some((wide) => prefix.startsWith(wide))) ?? false);
}

/** Whether a key with the scope may see every object of its account. */
export function seesEverything(scope: Pick<KeyScope, "kinds" | "prefixes"> | undefined): boolean {
  return !scope?.kinds && !scope?.prefixes;
}

/** Whether a key with the scope may see the object. */
export function isVisible(
  scope: Pick<KeyScope, "kinds" | "prefixes"> | undefined,
  object: Pick<StoredObject, "kind" | "doc">,
): boolean {
  if (scope?.kinds && !scope.kinds.has(object.kind)) return false;
  return !scope?.prefixes || hasPrefix(scope.prefixes, object.doc["metadata"]);
}

/** Whether a key with the scope may read secrets, and values that may contain secrets. */
export function seesSecrets(scope: KeyScope | undefined): boolean {
  return scope?.secrets ?? true;
}

export function hasPrefix(prefixes: readonly string[], metadata: unknown): boolean {
  return typeof metadata === "string" && prefixes.some((prefix) => metadata.startsWith(prefix));
}
