import { SortedNumbers } from "../lib/sorted-numbers.ts";

/** The ordinals that tunnels of one request have. */
interface Ordinals {
  next: number;
  /** Below `next`, and free again. */
  readonly free: SortedNumbers;
  used: number;
}

/**
 * The ids of a session's labelled tunnels. A request always gets the same ids in the same order: the one of the lowest
 * ordinal that is free (§4.3). The cost does not grow with the number of tunnels.
 */
export class LabelledIds {
  readonly #idOf: (request: string, ordinal: number) => string;
  readonly #byRequest = new Map<string, Ordinals>();
  readonly #given = new Map<string, { readonly request: string; readonly ordinal: number }>();

  /** @param idOf the id of a request with an ordinal; always the same */
  constructor(idOf: (request: string, ordinal: number) => string) {
    this.#idOf = idOf;
  }

  /** @param isTaken whether something else in the session has the id */
  take(request: string, isTaken: (id: string) => boolean): string {
    // The first id names the request: requests can be long.
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

  /** Harmless for ids that were not given here. */
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
