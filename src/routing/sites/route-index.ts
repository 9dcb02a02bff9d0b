import type { CompiledRoute } from "./compiled-site.ts";

/**
 * Routes by path: an exact match, else the longest prefix on segment boundaries. Prefixes are a tree of segments, so
 * that a lookup reads the path once, however many routes there are and however long it is.
 */
export class RouteIndex {
  /** Created with the first exact match, because many edges have none. */
  #exact: Map<string, CompiledRoute> | undefined;
  readonly #root: Segment = { below: undefined, bare: undefined, slashed: undefined };

  get isEmpty(): boolean {
    const { below, bare, slashed } = this.#root;
    return !bare && !slashed && !below?.size && !this.#exact?.size;
  }

  /** Whether there is at most one route, and it matches every path. */
  get isWhole(): boolean {
    return !this.#root.below?.size && !this.#exact?.size;
  }

  /** Assigns the place of a canonical path, unless another route has it. Then returns that route. */
  put(type: string, path: string, route: CompiledRoute): CompiledRoute | undefined {
    if (type === "exact_path") {
      this.#exact ??= new Map();
      const holder = this.#exact.get(path);
      if (holder) return holder;
      this.#exact.set(path, route);
      return undefined;
    }
    let at = this.#root;
    for (const segment of segmentsOf(path)) {
      at.below ??= new Map();
      let next = at.below.get(segment);
      if (!next) at.below.set(segment, (next = { below: undefined, bare: undefined, slashed: undefined }));
      at = next;
    }
    const slot = path.endsWith("/") ? "slashed" : "bare";
    const holder = at[slot];
    if (holder) return holder;
    at[slot] = route;
    return undefined;
  }

  /** Undoes `put`. Does nothing if `route` never got the place. */
  remove(type: string, path: string, route: CompiledRoute): void {
    if (type === "exact_path") {
      if (this.#exact?.get(path) === route) this.#exact.delete(path);
      return;
    }
    const trail: [Segment, string][] = [];
    let at: Segment = this.#root;
    for (const segment of segmentsOf(path)) {
      const next = at.below?.get(segment);
      if (!next) return;
      trail.push([at, segment]);
      at = next;
    }
    const slot = path.endsWith("/") ? "slashed" : "bare";
    if (at[slot] !== route) return;
    at[slot] = undefined;
    for (let step = trail.pop(); step; step = trail.pop()) {
      if (at.bare || at.slashed || at.below?.size) return;
      const [above, segment] = step;
      above.below?.delete(segment);
      at = above;
    }
  }

  /**
   * Returns the route for a canonical path. `/foo` and `/foo/` as prefixes both match `/foo`, `/foo/` and paths below.
   */
  find(path: string): CompiledRoute | undefined {
    const exact = this.#exact?.get(path);
    if (exact) return exact;
    if (path.charCodeAt(0) !== slash) return undefined;
    let at = this.#root;
    let found: CompiledRoute | undefined;
    let from = 1;
    for (;;) {
      const more = from <= path.length;
      const best = more ? (at.slashed ?? at.bare) : (at.bare ?? at.slashed);
      if (best) found = best;
      if (!more || !at.below) return found;
      const end = path.indexOf("/", from);
      const next = at.below.get(end < 0 ? path.slice(from) : path.slice(from, end));
      if (!next) return found;
      at = next;
      from = end < 0 ? path.length + 1 : end + 1;
    }
  }
}

interface Segment {
  below: Map<string, Segment> | undefined;
  /** Route of a prefix that ends here, without and with a trailing slash. */
  bare: CompiledRoute | undefined;
  slashed: CompiledRoute | undefined;
}

const slash = 47;

function segmentsOf(path: string): string[] {
  const inner = path.endsWith("/") ? path.slice(1, -1) : path.slice(1);
  return path === "/" ? [] : inner.split("/");
}
