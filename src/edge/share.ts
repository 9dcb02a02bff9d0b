/** One edge's share of a limit over all edges of a machine. */

/** Factor by which an edge's share exceeds the even share, because the kernel does not spread connections evenly. */
const unevenness = 1.25;

/** @returns at least 1. The total over all edges is at most a quarter above `limit`, plus one for each edge */
export function shareOf(limit: number, edges: number): number {
  return edges === 1 ? limit : Math.ceil((limit * unevenness) / edges);
}

/** Returns the limits in `names`, each as one edge's share. */
export function sharesOf<L extends object>(limits: L, names: readonly (keyof L)[], edges: number): L {
  const shares = names.map((name) => [name, shareOf(Number(limits[name]), edges)]);
  return { ...limits, ...(Object.fromEntries(shares) as Partial<L>) };
}
