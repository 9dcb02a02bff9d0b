/** Finds the first free name of a list. A search continues where the last one ended instead of trying taken names again. */
import { SortedNumbers } from "../../../lib/sorted-numbers.ts";

export interface NameSearches {
  /**
   * Calls `look` with the names of a list in their order, from the first that may be free, until it returns a result.
   * @param key names the list
   * @param nameAt returns the name at a position, always the same for the same key
   * @param searcher a name that is taken for one searcher may be free for another
   */
  first<Found>(
    key: string,
    searcher: object,
    nameAt: (ordinal: number) => string,
    look: (name: string) => Found | undefined,
  ): Found | undefined;
  /** Called when no tunnel has the name any more. */
  released(name: string): void;
}

interface SearchList {
  readonly names: string[];
  /** Positions of released names that no later search found taken. */
  readonly free: SortedNumbers;
  /** For each searcher, the number of names at the start of the list that it found taken. */
  readonly reached: WeakMap<object, number>;
}

/** Maximum number of remembered names. The oldest lists are removed first. */
const maxRemembered = 200_000;

/** @param maxNames maximum number of names of a list to try */
export function makeNameSearches(maxNames: number): NameSearches {
  const lists = new Map<string, SearchList>();
  const known = new Map<string, { readonly list: SearchList; readonly ordinal: number }>();

  const makeRoom = (): void => {
    for (const [key, { names }] of lists) {
      if (known.size < maxRemembered) return;
      lists.delete(key);
      for (const name of names) known.delete(name);
    }
  };
  const open = (key: string): SearchList => {
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
