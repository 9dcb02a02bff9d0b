/** One edge's part of a limit that holds over all edges of a machine. */

/** How much more than its even part an edge lets in: the kernel does not spread connections evenly. */
const unevenness = 1.25;

/** @returns at least 1; over all edges together no more than a quarter above `limit`, and one more for each edge */
export function shareOf(limit: number, edges: number): number {
  return edges === 1 ? limit : Math.ceil((limit * unevenness) / edges);
}

/** Those of `limits` that are named `names`, each as one edge's part. */
export function sharesOf<L extends object>(limits: L, names: readonly (keyof L)[], edges: number): L {
  const shares = names.map((name) => [name, shareOf(Number(limits[name]), edges)]);
  return { ...limits, ...(Object.fromEntries(shares) as Partial<L>) };
}
