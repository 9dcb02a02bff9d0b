/** Names for imported objects. The same input always produces the same names, so a second import changes nothing. */

const maxName = 100;

/** Returns the readable part of a name: lower case, with dashes for other characters. */
export function toSlug(text: string): string {
  return text
    .slice(0, maxName)
    .toLowerCase()
    .replaceAll("*", "any")
    .replaceAll(/[^a-z0-9.]+/g, "-")
    .replaceAll(/^[-.]+|[-.]+$/g, "");
}

/** Assigns names that are unique in a document. */
export class Names {
  readonly #taken = new Set<string>();

  /**
   * @param parts joined with dashes; empty parts are skipped
   * @param mark distinguishes equal names, such as the end of an id; a number if absent
   */
  take(parts: readonly string[], mark?: string): string {
    const joined = parts.map(toSlug).filter(Boolean).join("-").slice(0, maxName);
    const base = joined === "" ? "object" : joined;
    let name = base;
    if (this.#taken.has(name) && mark !== undefined) name = `${base}-${toSlug(mark)}`;
    for (let number = 2; this.#taken.has(name); number += 1) name = `${base}-${number}`;
    this.#taken.add(name);
    return name;
  }
}

/** Returns the name of an environment variable, such as `SHOP_CLIENT_SECRET`. */
export function variableName(parts: readonly string[]): string {
  const joined = parts.map((part) => part.toUpperCase().replaceAll(/[^A-Z0-9]+/g, "_")).join("_");
  return `IMPORT_${joined.replaceAll(/^_+|_+$/g, "").slice(0, maxName)}`;
}
