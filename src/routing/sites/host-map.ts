/**
 * Maps names to holders. Exact names precede wildcards, and longer wildcards precede shorter ones. `*.a.com` covers
 * `x.y.a.com`.
 */
export class HostMap<T> {
  readonly #exact = new Map<string, T>();
  /** By the part after `*.`. */
  readonly #wild = new Map<string, T>();

  /** Assigns the name, unless another holder has it. Then returns that holder. */
  put(name: string, holder: T): T | undefined {
    const [map, key] = this.#place(name);
    const present = map.get(key);
    if (present !== undefined) return present;
    map.set(key, holder);
    return undefined;
  }

  /** Does nothing if `holder` does not hold the name. */
  remove(name: string, holder: T): void {
    const [map, key] = this.#place(name);
    if (map.get(key) === holder) map.delete(key);
  }

  /** Returns the holder of exactly this name, including `*.`. */
  get(name: string): T | undefined {
    const [map, key] = this.#place(name);
    return map.get(key);
  }

  get isEmpty(): boolean {
    return this.#exact.size + this.#wild.size === 0;
  }

  exact(host: string): T | undefined {
    return this.#exact.get(host);
  }

  /** Returns the holder of the wildcard whose `*` stands before the dot at `dot` of `host`. */
  wildcard(host: string, dot: number): T | undefined {
    return this.#wild.size === 0 ? undefined : this.#wild.get(host.slice(dot + 1));
  }

  #place(name: string): [Map<string, T>, string] {
    return name.startsWith("*.") ? [this.#wild, name.slice(2)] : [this.#exact, name];
  }
}
