/** The order in which an edge tries its routes. */
import type { HTTPSEdgeRoute } from "../../../sdk/src/index.ts";

/** Returns the routes in the edge's order: nearest host first, then exact paths, then the longest prefix. */
export function inOrder(routes: readonly HTTPSEdgeRoute[]): readonly HTTPSEdgeRoute[] {
  const ranks = ({ match, match_type }: HTTPSEdgeRoute): readonly number[] => {
    const [host = "", ...rest] = match.split("/");
    return [
      host === "" ? 2 : host.startsWith("*") ? 1 : 0,
      -host.length,
      match_type === "exact_path" ? 0 : 1,
      -rest.join("/").length,
    ];
  };
  return routes
    .map((route) => ({ route, ranks: ranks(route) }))
    .toSorted((one, other) => one.ranks.map((rank, at) => rank - (other.ranks[at] ?? 0)).find((by) => by !== 0) ?? 0)
    .map(({ route }) => route);
}
