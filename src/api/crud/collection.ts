/** Paths of a resource, and its name in sentences. */
import { typeName } from "../../schema/json-schema.ts";
import type { ResourceDeclaration } from "../../schema/resource.ts";

/** One of the paths of a resource. */
export interface Collection {
  readonly resource: ResourceDeclaration;
  readonly path: string;
  readonly listKey: string;
  /** Suffix of operation ids on paths other than the first. */
  readonly suffix: string;
}

/** Returns the resource's main path first, then its aliases. */
export function collectionsOf(resource: ResourceDeclaration): readonly Collection[] {
  const { path, listKey, aliases = [] } = resource;
  return [
    { resource, path, listKey, suffix: "" },
    ...aliases.map((alias) => ({ resource, ...alias, suffix: `At${typeName(alias.path.slice(1))}` })),
  ];
}

/** Returns the resource's name with its article, such as `an HTTPS edge`. */
export function withArticle(resource: ResourceDeclaration): string {
  const name = bareName(resource);
  // "an HTTPS edge": H begins with a vowel sound when spelled out.
  return `${/^(?:[aeioAH]|IP)/.test(name) ? "an" : "a"} ${name}`;
}

/** Returns the plural of the resource's name, such as `HTTPS edges`. */
export function pluralOf(resource: ResourceDeclaration): string {
  return pluralName(bareName(resource));
}

function bareName({ name }: ResourceDeclaration): string {
  return name.replaceAll("_", " ").replace(/\b(ip|http|https|tls|tcp|api)\b/g, (word) => word.toUpperCase());
}

export function pluralName(name: string): string {
  if (name.endsWith("y") && !/[aeiou]y$/.test(name)) return `${name.slice(0, -1)}ies`;
  return name.endsWith("s") ? `${name}es` : `${name}s`;
}
