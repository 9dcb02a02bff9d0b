/** Checks whether an expression reads the path of the request's URL. */
import type { CheckedTree } from "../../cel/checking/checked.ts";

const withPath: ReadonlySet<string> = new Set([
  "req.url",
  "req.url.path",
  "req.url.raw",
  "req.url.raw_path",
  "req.url.uri",
]);

export function readsPath({ variables }: CheckedTree): boolean {
  for (const { name } of variables.values()) if (withPath.has(name)) return true;
  return false;
}
