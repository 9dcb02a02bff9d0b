/** Ascending arrays of ids. Ids grow with time, so most additions append. */

/** Returns the first index whose id is `id` or later. */
function indexOf(ids: readonly string[], id: string): number {
  let low = 0;
  let high = ids.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ids[middle] as string) < id) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function insertId(ids: string[], id: string): void {
  const last = ids.at(-1);
  if (last === undefined || last < id) {
    ids.push(id);
    return;
  }
  const at = indexOf(ids, id);
  if (ids[at] !== id) ids.splice(at, 0, id);
}

/** For more removals, one pass over the array is cheaper than moving its tail for each. */
const fewRemovals = 16;

export function removeIds(ids: string[], gone: readonly string[]): void {
  if (gone.length <= fewRemovals) {
    for (const id of gone) {
      const at = indexOf(ids, id);
      if (ids[at] === id) ids.splice(at, 1);
    }
    return;
  }
  const set = new Set(gone);
  let kept = 0;
  for (const id of ids) {
    if (set.has(id)) continue;
    ids[kept] = id;
    kept += 1;
  }
  ids.length = kept;
}

/** Returns at most `limit` ids before `below`, newest first. */
export function idsBelow(ids: readonly string[], below: string | undefined, limit: number): string[] {
  const end = below === undefined ? ids.length : indexOf(ids, below);
  return ids.slice(Math.max(0, end - limit), end).reverse();
}
