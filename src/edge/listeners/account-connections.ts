/** Counts each account's open connections, so that one account's visitors leave room for those of others (D2). */
export interface AccountConnections {
  isFull(accountId: string): boolean;
  /** Counts a connection. The caller must call `leave` when it closes. */
  enter(accountId: string): void;
  leave(accountId: string): void;
}

/** @param most maximum number of open connections of one account */
export function makeAccountConnections(most: number): AccountConnections {
  const open = new Map<string, number>();
  return {
    isFull: (accountId) => (open.get(accountId) ?? 0) >= most,
    enter: (accountId) => void open.set(accountId, (open.get(accountId) ?? 0) + 1),
    leave(accountId) {
      const left = (open.get(accountId) ?? 1) - 1;
      if (left > 0) open.set(accountId, left);
      else open.delete(accountId);
    },
  };
}
