/** Finds names of header fields in capitals: the maps have only lower-case keys. */
import type { CheckedTree } from "../../cel/checking/checked.ts";
import type { Node } from "../../cel/syntax/tree.ts";
import { nodesOf } from "./policy-doubt.ts";
import type { Doubt } from "./policy-doubt.ts";

const headerMaps: ReadonlySet<string> = new Set(["req.headers", "req.trailers", "res.headers", "res.trailers"]);

export function capitalHeaderNames(checked: CheckedTree): Doubt[] {
  return Array.from(nodesOf(checked.tree.root)).flatMap((node) => {
    if (node.kind !== "call") return [];
    const [map, key] = node.name === "@in" ? node.args.toReversed() : node.args;
    if (!["@in", "@has", "_[_]"].includes(node.name) || !isHeaderMap(map) || key?.kind !== "literal") return [];
    const name = key.value;
    if (typeof name !== "string" || name === name.toLowerCase()) return [];
    const message = `names of header fields are in lower case here: '${name.slice(0, 64)}' is read as '${name.slice(0, 64).toLowerCase()}'`;
    return [{ offset: key.from, message, hint: "write the name in lower case" }];
  });

  function isHeaderMap(node: Node | undefined): boolean {
    const variable = node && checked.variables.get(node.id);
    return variable !== undefined && headerMaps.has(variable.name);
  }
}
