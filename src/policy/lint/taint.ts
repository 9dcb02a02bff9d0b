/** Tracks values that reveal a secret: variables, header fields, the URL, results of actions. */

/** Variables derived from a header field. */
const ofFields: readonly (readonly [variable: string, source: string])[] = [
  ["req.cookies", "req.headers.cookie"],
  ["res.cookies", "res.headers.set-cookie"],
  ["req.user_agent", "req.headers.user-agent"],
  ["req.content_type", "req.headers.content-type"],
  ["res.content_type", "res.headers.content-type"],
  ["req.location", "req.headers.location"],
  ["res.location", "res.headers.location"],
  ["req.host", "req.headers.host"],
  ["req.url", "req.headers.host"],
  ["endpoint", "req.headers.host"],
];

/** State of one phase. `vars` end with the phase. All other values reach the later phases. */
export class Taint {
  readonly #own = new Set<string>();
  readonly #carried: Set<string>;

  /** @param carried shared by all phases of a policy */
  constructor(carried: Set<string>) {
    this.#carried = carried;
  }

  add(source: string): void {
    (source.startsWith("vars.") ? this.#own : this.#carried).add(source);
  }

  /** Whether exactly this value reveals a secret. */
  has(source: string): boolean {
    return this.#own.has(source) || this.#carried.has(source);
  }

  /** Whether this value, a value that contains it, or a part of it reveals a secret. */
  hasAny(name: string): boolean {
    if (this.#own.size + this.#carried.size === 0) return false;
    for (const source of [...this.#own, ...this.#carried])
      if (isPart(source, name) || isPart(name, source)) return true;
    return ofFields.some(([variable, source]) => isPart(name, variable) && this.has(source));
  }
}

function isPart(name: string, whole: string): boolean {
  return name === whole || name.startsWith(`${whole}.`);
}
