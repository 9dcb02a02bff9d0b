/** How many connections each account has open, so that the visitors of one leave room for those of others (D2). */
export interface AccountConnections {
  isFull(accountId: string): boolean;
  /** `leave` is owed when the connection closes. */
  enter(accountId: string): void;
  leave(accountId: string): void;
}

/** @param most open at once, of one account */
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
