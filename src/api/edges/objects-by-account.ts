import type { StoredObject } from "../../storage/store.ts";

/** What is told of one object. */
interface Told {
  readonly accountId: string;
}

/** Objects of one kind, by account and id. What is told of them is kept, and made an object of when somebody looks. */
export interface ObjectsByAccount<T extends Told> {
  put(id: string, told: T): void;
  remove(accountId: string, id: string): void;
  /** The account's, by id. */
  of(accountId: string): ObjectsById;
  readonly size: number;
}

export interface ObjectsById {
  get(id: string): StoredObject | undefined;
  keys(): Iterable<string>;
}

/** More of the same kind, kept elsewhere. */
interface Others<T extends Told> {
  get(id: string): T | undefined;
  ids(accountId: string): Iterable<string>;
  count(): number;
}

export function makeObjectsByAccount<T extends Told>(
  objectOf: (told: T) => StoredObject | undefined,
  others: Others<T>,
): ObjectsByAccount<T> {
  const byAccount = new Map<string, Map<string, T>>();
  return {
    put(id, told) {
      const { accountId } = told;
      let own = byAccount.get(accountId);
      if (!own) byAccount.set(accountId, (own = new Map()));
      own.set(id, told);
    },
    remove(accountId, id) {
      const own = byAccount.get(accountId);
      own?.delete(id);
      if (own?.size === 0) byAccount.delete(accountId);
    },
    of(accountId) {
      const own = byAccount.get(accountId);
      return {
        get(id) {
          const told = own?.get(id) ?? others.get(id);
          return told?.accountId === accountId ? objectOf(told) : undefined;
        },
        // What moves may be both here and elsewhere for a moment.
        keys: () => new Set([...(own?.keys() ?? []), ...others.ids(accountId)]),
      };
    },
    get size() {
      return [...byAccount.values()].reduce((sum, own) => sum + own.size, others.count());
    },
  };
}
