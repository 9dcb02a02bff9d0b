import { SortedNumbers } from "../lib/sorted-numbers.ts";

/** Ordinals of the tunnels of one request. */
interface Ordinals {
  next: number;
  /** Free ordinals below `next`. */
  readonly free: SortedNumbers;
  used: number;
}

/**
 * Ids of a session's labelled tunnels. A request always gets the same ids in the same order, lowest free ordinal first
 * (§4.3). The cost does not grow with the number of tunnels.
 */
export class LabelledIds {
  readonly #idOf: (request: string, ordinal: number) => string;
  readonly #byRequest = new Map<string, Ordinals>();
  readonly #given = new Map<string, { readonly request: string; readonly ordinal: number }>();

  /** @param idOf returns the id of a request and an ordinal; deterministic */
  constructor(idOf: (request: string, ordinal: number) => string) {
    this.#idOf = idOf;
  }

  /** @param isTaken whether something else in the session has the id */
  take(request: string, isTaken: (id: string) => boolean): string {
    // The first id identifies the request, because requests can be long.
    const name = this.#idOf(request, 0);
    let ordinals = this.#byRequest.get(name);
    if (!ordinals) this.#byRequest.set(name, (ordinals = { next: 0, free: new SortedNumbers(), used: 0 }));
    for (;;) {
      const ordinal = ordinals.free.lowest ?? ordinals.next;
      if (ordinal === ordinals.next) ordinals.next += 1;
      else ordinals.free.delete(ordinal);
      const id = ordinal === 0 ? name : this.#idOf(request, ordinal);
      if (isTaken(id)) continue;
      ordinals.used += 1;
      this.#given.set(id, { request: name, ordinal });
      return id;
    }
  }

  /** Ignores ids that were not assigned here. */
  release(id: string): void {
    const given = this.#given.get(id);
    const ordinals = given && this.#byRequest.get(given.request);
    if (!ordinals) return;
    this.#given.delete(id);
    ordinals.used -= 1;
    if (ordinals.used === 0) this.#byRequest.delete(given.request);
    else ordinals.free.add(given.ordinal);
  }
}
