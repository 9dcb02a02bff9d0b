/** Converts changes of header fields to actions. */
import type { JsonObject } from "../../lib/json.ts";
import { entriesAt, nodeAt, textsAt } from "../formats/source-tree.ts";
import type { SourceNode } from "../formats/source-tree.ts";
import { templateOf } from "./placeholders.ts";
import type { ImportedSite } from "./imported-site.ts";

/** `set` replaces a field, `add` adds to it, `delete` removes it. */
export function headerActions(
  site: ImportedSite,
  node: SourceNode | undefined,
  own: Readonly<Record<string, string>>,
): JsonObject[] {
  if (!node) return [];
  site.ledger.say(node, "mapped", "add-headers and remove-headers");
  const leave = (key: string, text: string): undefined => {
    site.ledger.say(nodeAt(node, key), "left out", text);
    return undefined;
  };
  const values = (key: "set" | "add"): (readonly [string, string])[] =>
    entriesAt(node, key).flatMap(({ key: name, node: given }) => {
      const made = textsOf(given).map((text) => templateOf(text, own));
      if (made.every((text) => text !== undefined)) return made.map((text) => [name.toLowerCase(), text] as const);
      site.ledger.say(
        given,
        "left out",
        "the value has a placeholder without equivalent. Write the value, or a rule with an expression",
      );
      return [];
    });
  if (nodeAt(node, "replace")) leave("replace", "parts of header fields cannot be replaced. Set the whole field");
  const removed = textsAt(node, "delete");
  const wild = removed.some((name) => name.includes("*"));
  if (wild) leave("delete", "fields are removed by their whole name. List each name");
  const set = values("set");
  const names = [
    ...(wild ? [] : removed.map((name) => name.toLowerCase())),
    ...set.map(([name]) => name).filter((name) => name !== "host"),
  ];
  const remove = splitIntoChunks([...new Set(names)]).map((headers) => ({
    type: "remove-headers",
    config: { headers },
  }));
  // A map has each name only once.
  const added = [...set, ...values("add")];
  const rounds = added.map(([name, value], index) => ({
    round: added.slice(0, index).filter(([other]) => other === name).length,
    name,
    value,
  }));
  const maps = Map.groupBy(rounds, ({ round }) => round);
  const add = [...maps.values()].flatMap((round) =>
    splitIntoChunks(round).map((part) => ({
      type: "add-headers",
      config: { headers: Object.fromEntries(part.map(({ name, value }) => [name, value])) },
    })),
  );
  return [...remove, ...add];
}

/** An action accepts at most ten fields. */
function splitIntoChunks<T>(list: readonly T[]): T[][] {
  return Array.from({ length: Math.ceil(list.length / 10) }, (_, index) => list.slice(index * 10, index * 10 + 10));
}

export function textsOf({ value }: SourceNode): string[] {
  if (value.kind === "text") return [value.text];
  return value.kind === "list" ? value.items.flatMap((item) => textsOf(item)) : [];
}
