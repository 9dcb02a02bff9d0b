/** Searches for the first free name of a list, which do not look at the same taken names again for each tunnel. */
import { SortedNumbers } from "../../../lib/sorted-numbers.ts";

export interface NameSearches {
  /**
   * Calls `look` with the names of a list in their order, from the first that may be free, until it returns something.
   * @param key names the list
   * @param nameAt the name at a place; always the same for the same key
   * @param searcher who searches: a name that was taken for one searcher may be another's own
   */
  first<Found>(
    key: string,
    searcher: object,
    nameAt: (ordinal: number) => string,
    look: (name: string) => Found | undefined,
  ): Found | undefined;
  /** Nobody has the name any more. */
  released(name: string): void;
}

interface List {
  readonly names: string[];
  /** Places of names that were released and not found taken since. */
  readonly free: SortedNumbers;
  /** For each searcher, how many of the first names were taken when it came there. */
  readonly reached: WeakMap<object, number>;
}

/** Names that are remembered; the lists that were made first make room. */
const maxRemembered = 200_000;

/** @param maxNames of one list that are tried */
export function makeNameSearches(maxNames: number): NameSearches {
  const lists = new Map<string, List>();
  const known = new Map<string, { readonly list: List; readonly ordinal: number }>();

  const makeRoom = (): void => {
    for (const [key, { names }] of lists) {
      if (known.size < maxRemembered) return;
      lists.delete(key);
      for (const name of names) known.delete(name);
    }
  };
  const open = (key: string): List => {
    let list = lists.get(key);
    if (!list) {
      makeRoom();
      lists.set(key, (list = { names: [], free: new SortedNumbers(), reached: new WeakMap() }));
    }
    return list;
  };
  return {
    first(key, searcher, nameAt, look) {
      const list = open(key);
      const nameOf = (ordinal: number): string => {
        let name = list.names[ordinal];
        if (name === undefined) {
          name = nameAt(ordinal);
          list.names.push(name);
          known.set(name, { list, ordinal });
        }
        return name;
      };
      const reached = list.reached.get(searcher) ?? 0;
      for (const ordinal of list.free.values()) {
        if (ordinal >= reached) break;
        const found = look(nameOf(ordinal));
        if (found !== undefined) return found;
        list.free.delete(ordinal);
      }
      for (let ordinal = reached; ordinal < maxNames; ordinal += 1) {
        const found = look(nameOf(ordinal));
        if (found === undefined) continue;
        // The name itself is not taken yet.
        list.reached.set(searcher, ordinal);
        return found;
      }
      list.reached.set(searcher, maxNames);
      return undefined;
    },
    released(name) {
      const place = known.get(name);
      place?.list.free.add(place.ordinal);
    },
  };
}
