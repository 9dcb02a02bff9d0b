import type { CompiledRoute } from "./compiled.ts";

/**
 * Routes by path: an exact match, else the longest prefix on segment boundaries. Prefixes are a
 * tree of segments, so that a look-up reads the path once, however many routes there are and however long it is.
 */
export class RouteIndex {
  /** Made with the first exact match: there are many edges without one. */
  #exact: Map<string, CompiledRoute> | undefined;
  readonly #root: Segment = { below: undefined, bare: undefined, slashed: undefined };

  get isEmpty(): boolean {
    const { below, bare, slashed } = this.#root;
    return !bare && !slashed && !below?.size && !this.#exact?.size;
  }

  /** At most one route, for every path. */
  get isWhole(): boolean {
    return !this.#root.below?.size && !this.#exact?.size;
  }

  /** Takes the place of a canonical path, unless another route has it: then that one is returned. */
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

  /** Undoes `put`; harmless when `route` never got the place. */
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

  /** The route for a canonical path. `/foo` and `/foo/` as prefixes both match `/foo`, `/foo/` and what is below. */
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
  /** The route of a prefix that ends here, written without and with a final slash. */
  bare: CompiledRoute | undefined;
  slashed: CompiledRoute | undefined;
}

const slash = 47;

function segmentsOf(path: string): string[] {
  const inner = path.endsWith("/") ? path.slice(1, -1) : path.slice(1);
  return path === "/" ? [] : inner.split("/");
}
