/** Searches a collection for the objects of a page, in steps that leave time for other requests. */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { StoredObject } from "../../storage/store.ts";
import { makeShares } from "../operation/shares.ts";
import type { Looked, Page, ReadPage } from "./read-page.ts";

/** Number of objects per step. */
const stepObjects = 100;
/** Maximum number of objects searched for one page. The next page continues after them. */
const maxObjects = 200_000;

/** Filters and partial lists may search very many objects, and lists of the past very many rows. */
export const longLists = makeShares(8);

export interface WalkedPage {
  readonly objects: readonly StoredObject[];
  /** The next page begins below this id. Undefined on the last page. */
  readonly next: string | undefined;
}

/**
 * Replies with a page of the objects that `holds` accepts. If the first step does not complete the page, the search
 * continues as a long list of the key. Rejects with `Refusal` if the key already has its maximum number of long lists.
 */
export function walkPage<T>(
  keyId: string,
  request: Parameters<ReadPage>[0],
  read: ReadPage,
  holds: Holds,
  reply: (page: WalkedPage) => T,
): T | Promise<T> {
  const walk = new Walk(request);
  const page = walk.step(read, holds);
  return page ? reply(page) : longLists.take(keyId, () => walk.finish(read, () => holds).then(reply));
}

type Holds = (object: StoredObject) => boolean;

/** Search for one page, newest first. Whether it includes concurrent writes is undefined. */
export class Walk {
  readonly #limit: number;
  readonly #found: StoredObject[] = [];
  #below: string | undefined;
  #next: string | undefined;
  #looked = 0;

  constructor({ limit, beforeId }: Parameters<ReadPage>[0]) {
    this.#limit = limit;
    this.#below = beforeId;
  }

  /**
   * Searches the next objects.
   * @returns the page once it is complete
   */
  step(read: ReadPage, holds: Holds): WalkedPage | undefined {
    const page = read(this.#request);
    return this.#take(page, holds) ? this.#page : undefined;
  }

  /**
   * Continues to the end of the page.
   * @param holdsOf returns the predicate for the objects of one step
   */
  async finish(
    read: Looked["read"],
    holdsOf: (objects: readonly StoredObject[]) => Holds | Promise<Holds>,
  ): Promise<WalkedPage> {
    for (;;) {
      const page = await read(this.#request);
      if (this.#take(page, await holdsOf(page.objects))) return this.#page;
      await nextTurn();
    }
  }

  get #request(): Parameters<ReadPage>[0] {
    return { limit: stepObjects, beforeId: this.#below };
  }

  get #page(): WalkedPage {
    return { objects: this.#found, next: this.#next };
  }

  /** Whether the page is complete with these objects. */
  #take({ objects, more }: Page, holds: Holds): boolean {
    for (const object of objects) {
      if (!holds(object)) continue;
      if (this.#found.length === this.#limit) {
        this.#next = this.#found.at(-1)?.id;
        return true;
      }
      this.#found.push(object);
    }
    if (!more) return true;
    this.#below = objects.at(-1)?.id;
    this.#looked += stepObjects;
    if (this.#looked < maxObjects) return false;
    this.#next = this.#below;
    return true;
  }
}
