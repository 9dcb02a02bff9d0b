/** Where a resource is served, and what it is called in sentences. */
import { typeName } from "../../schema/json-schema.ts";
import type { ResourceDeclaration } from "../../schema/resource.ts";

/** One of the paths that a resource is served at. */
export interface Collection {
  readonly resource: ResourceDeclaration;
  readonly path: string;
  readonly listKey: string;
  /** Ends the ids of operations on other paths than the first. */
  readonly suffix: string;
}

/** The resource's own path first, then its aliases. */
export function collectionsOf(resource: ResourceDeclaration): readonly Collection[] {
  const { path, listKey, aliases = [] } = resource;
  return [
    { resource, path, listKey, suffix: "" },
    ...aliases.map((alias) => ({ resource, ...alias, suffix: `At${typeName(alias.path.slice(1))}` })),
  ];
}

/** The resource with its article, e.g. `an HTTPS edge`. */
export function oneOf(resource: ResourceDeclaration): string {
  const name = bare(resource);
  // "an HTTPS edge": spelled out, H begins with a vowel.
  return `${/^(?:[aeioAH]|IP)/.test(name) ? "an" : "a"} ${name}`;
}

/** Several of the resource, e.g. `HTTPS edges`. */
export function manyOf(resource: ResourceDeclaration): string {
  return plural(bare(resource));
}

function bare({ name }: ResourceDeclaration): string {
  return name.replaceAll("_", " ").replace(/\b(ip|http|https|tls|tcp|api)\b/g, (word) => word.toUpperCase());
}

export function plural(name: string): string {
  if (name.endsWith("y") && !/[aeiou]y$/.test(name)) return `${name.slice(0, -1)}ies`;
  return name.endsWith("s") ? `${name}es` : `${name}s`;
}
