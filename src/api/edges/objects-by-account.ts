import type { StoredObject } from "../../storage/store.ts";

/** Objects of one kind, by account and id. */
export interface ObjectsByAccount {
  put(object: StoredObject): void;
  remove(accountId: string, id: string): void;
  /** The account's, by id. */
  of(accountId: string): ReadonlyMap<string, StoredObject>;
  readonly size: number;
}

const none: ReadonlyMap<string, StoredObject> = new Map();

export function makeObjectsByAccount(): ObjectsByAccount {
  const byAccount = new Map<string, Map<string, StoredObject>>();
  return {
    put(object) {
      let own = byAccount.get(object.account_id);
      if (!own) byAccount.set(object.account_id, (own = new Map()));
      own.set(object.id, object);
    },
    remove(accountId, id) {
      const own = byAccount.get(accountId);
      own?.delete(id);
      if (own?.size === 0) byAccount.delete(accountId);
    },
    of: (accountId) => byAccount.get(accountId) ?? none,
    get size() {
      return [...byAccount.values()].reduce((sum, own) => sum + own.size, 0);
    },
  };
}
