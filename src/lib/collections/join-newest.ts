/** Entries with ids, newest first, and whether older ones follow. */
export interface NewestFirst<Entry> {
  readonly found: readonly Entry[];
  readonly more: boolean;
}

interface IdentifiedEntry {
  readonly id: string;
  /** Whether this list knows the most about it. */
  readonly captured?: true;
}

/** Joins lists into one of at most `limit` entries. An entry of several lists is taken from where it was captured. */
export function joinNewest<One extends IdentifiedEntry>(
  limit: number,
  lists: readonly NewestFirst<One>[],
): NewestFirst<One> {
  const byId = new Map<string, One>();
  for (const one of lists.flatMap(({ found }) => found)) {
    if (one.captured === true || !byId.has(one.id)) byId.set(one.id, one);
  }
  const all = [...byId.values()].sort((one, other) => (one.id < other.id ? 1 : -1));
  return { found: all.slice(0, limit), more: all.length > limit || lists.some(({ more }) => more) };
}
