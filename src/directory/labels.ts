/**
 * Sets of labels per account. A query for sets that contain some labels, or are contained in them, does not scan all
 * sets.
 */

export type Labels = Readonly<Record<string, string>>;

export interface LabelIndex<T> {
  add(accountId: string, id: string, labels: Labels, value: T): void;
  remove(accountId: string, id: string, labels: Labels): void;
  /** Returns the sorted ids of the sets that have all of `labels`. */
  findHaving(accountId: string, labels: Labels): readonly string[];
  /** Returns the sorted ids of the sets whose labels are all among `labels`. */
  findWithin(accountId: string, labels: Labels): readonly string[];
  values(accountId: string): readonly T[];
}

interface LabelledValue<T> {
  readonly labels: Labels;
  readonly value: T;
}

export function makeLabelIndex<T>(): LabelIndex<T> {
  // account → label → id → entry
  const byLabel = new Map<string, Map<string, Map<string, LabelledValue<T>>>>();
  const byId = new Map<string, Map<string, LabelledValue<T>>>();
  return {
    add(accountId, id, labels, value) {
      const entry = { labels, value };
      innerMap(byId, accountId).set(id, entry);
      const ofAccount = innerMap(byLabel, accountId);
      for (const [name, text] of Object.entries(labels)) innerMap(ofAccount, `${name}=${text}`).set(id, entry);
    },
    remove(accountId, id, labels) {
      byId.get(accountId)?.delete(id);
      const ofAccount = byLabel.get(accountId);
      for (const [name, text] of Object.entries(labels)) {
        const ids = ofAccount?.get(`${name}=${text}`);
        ids?.delete(id);
        if (ids?.size === 0) ofAccount?.delete(`${name}=${text}`);
      }
    },
    findHaving(accountId, labels) {
      const ofAccount = byLabel.get(accountId);
      let fewest: ReadonlyMap<string, LabelledValue<T>> | undefined;
      for (const [name, text] of Object.entries(labels)) {
        const ids = ofAccount?.get(`${name}=${text}`);
        if (!ids) return [];
        if (!fewest || ids.size < fewest.size) fewest = ids;
      }
      return [...(fewest ?? [])]
        .filter(([, entry]) => hasLabels(entry.labels, labels))
        .map(([id]) => id)
        .sort();
    },
    findWithin(accountId, labels) {
      const ofAccount = byLabel.get(accountId);
      const found = new Set<string>();
      for (const [name, text] of Object.entries(labels)) {
        for (const [id, entry] of ofAccount?.get(`${name}=${text}`) ?? []) {
          if (hasLabels(labels, entry.labels)) found.add(id);
        }
      }
      return [...found].sort();
    },
    values: (accountId) => [...(byId.get(accountId)?.values() ?? [])].map((entry) => entry.value),
  };
}

function hasLabels(all: Labels, some: Labels): boolean {
  return Object.entries(some).every(([name, text]) => Object.hasOwn(all, name) && all[name] === text);
}

function innerMap<V>(outer: Map<string, Map<string, V>>, key: string): Map<string, V> {
  let map = outer.get(key);
  if (!map) outer.set(key, (map = new Map()));
  return map;
}
