/** Goes through a collection for the objects that a page shows, in steps between which other requests go on. */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { StoredObject } from "../../storage/store.ts";
import { makeShares } from "../operation/shares.ts";
import type { Looked, Page, ReadPage } from "./read-page.ts";

/** Objects looked at in one step. */
const stepObjects = 100;
/** Objects looked at for one page; the next page goes on after them. */
const maxObjects = 200_000;

/** Filters and partial lists may look at very many objects, and lists of the past at very many rows. */
export const longLists = makeShares(8);

export interface WalkedPage {
  readonly objects: readonly StoredObject[];
  /** The next page begins below it; undefined where there is none. */
  readonly next: string | undefined;
}

/**
 * Replies with a page of the objects that `holds` takes: at once where the first step finds them, else as one of the long
 * lists of the key. Rejects with `Refusal` where the key has too many of those under way.
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

/** A walk for one page, newest first. Objects that are written meanwhile may be seen or not. */
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

  /** Looks at the next objects. @returns the page once it is complete */
  step(read: ReadPage, holds: Holds): WalkedPage | undefined {
    const page = read(this.#request);
    return this.#take(page, holds) ? this.#page : undefined;
  }

  /** Goes on to the end of the page. @param holdsOf for the objects of one step */
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

  /** Whether the page is complete with these. */
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
