/** Formats a policy: phases and keys in standard order, present names, comments preserved. */
import { isMap, isScalar, isSeq, parseDocument, visit } from "yaml";
import type { Pair, YAMLMap, YAMLSeq } from "yaml";
import type { Field, Fields } from "../schema/fields.ts";
import { actionsByName } from "./actions/index.ts";
import { compilePolicy } from "./compile-policy.ts";
import type { PolicyCompilation } from "./compile-policy.ts";
import type { OlderName } from "./findings.ts";
import { phases } from "./language/phase.ts";
import type { Layer } from "./language/action.ts";
import { phaseNamed } from "./phases.ts";

const topKeys: readonly string[] = ["enabled", ...phases];
const ruleKeys: readonly string[] = ["name", "expressions", "actions"];
const actionKeys: readonly string[] = ["type", "config"];

/** Returns the formatted text, or the issues of an invalid policy, which does not change. JSON stays JSON. */
export function formatPolicy(text: string, layer: Layer): string | PolicyCompilation["issues"] {
  const { issues, olderNames } = compilePolicy(text, layer);
  if (issues.length > 0) return issues;
  const document = parseDocument(text, { version: "1.2", schema: "core", stringKeys: true });
  const { contents } = document;
  if (!isMap(contents)) return text;
  renameOlder(contents, "", byPath(olderNames));
  for (const { key } of contents.items) {
    if (isScalar(key)) key.value = phaseNamed(String(key.value), layer) ?? key.value;
  }
  inOrder(contents, topKeys);
  for (const { value } of contents.items) {
    if (isSeq(value)) for (const rule of value.items) if (isMap(rule)) formatRule(rule);
  }
  if (isJson(text)) return `${JSON.stringify(document.toJS(), undefined, 2)}\n`;
  visit(document, {
    Map: (_, map) => padFlow(map, " "),
    Seq: (_, list) => padFlow(list, ""),
  });
  return document.toString({ lineWidth: 0 });
}

/** Formats `{ a: b }` and `[a, b]`: the library has one setting for both. */
function padFlow(node: YAMLMap | YAMLSeq, flowCollectionPadding: string): void {
  const { toString } = node;
  node.toString = (context, ...rest) => toString.call(node, context && { ...context, flowCollectionPadding }, ...rest);
}

function isJson(text: string): boolean {
  try {
    return typeof JSON.parse(text) === "object";
  } catch {
    return false;
  }
}

function formatRule(rule: YAMLMap): void {
  inOrder(rule, ruleKeys);
  const list = rule.get("actions");
  if (!isSeq(list)) return;
  for (const action of list.items) {
    if (!isMap(action)) continue;
    inOrder(action, actionKeys);
    const declared = actionsByName.get(String(action.get("type")));
    if (declared) action.set("type", declared.type);
    const config = action.get("config");
    if (isMap(config)) renameFields(config, declared?.config ?? {});
  }
}

/** Renames fields with an older name. */
function renameFields(config: YAMLMap, fields: Fields): void {
  for (const { key, value } of config.items) {
    if (!isScalar(key)) continue;
    const given = String(key.value);
    const [name, field] = Object.entries(fields).find(([one, { alias }]) => one === given || alias === given) ?? [];
    if (name === undefined || field === undefined) continue;
    // If both names are present, their values are equal.
    if (name !== given && !config.has(name)) key.value = name;
    const inner = innerFields(field);
    if (!inner) continue;
    for (const one of isSeq(value) ? value.items : [value]) if (isMap(one)) renameFields(one, inner);
  }
}

function innerFields(field: Field): Fields | undefined {
  if (field.type === "list") return innerFields(field.of);
  return field.type === "object" ? field.fields : undefined;
}

/** A comment moves with the key that follows it. */
function inOrder(map: YAMLMap, order: readonly string[]): void {
  const rank = ({ key }: Pair): number => {
    const at = order.indexOf(isScalar(key) ? String(key.value) : "");
    return at < 0 ? order.length : at;
  };
  const sorted = map.items.toSorted((one, other) => rank(one) - rank(other));
  const [first] = map.items;
  if (sorted[0] === first && sorted.every((pair, at) => pair === map.items[at])) return;
  if (isScalar(first?.key) && typeof map.commentBefore === "string") {
    first.key.commentBefore = map.commentBefore;
    map.commentBefore = null;
  }
  map.items = sorted;
}

type Renames = ReadonlyMap<string, readonly OlderName[]>;

function byPath(names: readonly OlderName[]): Renames {
  return Map.groupBy(names, ({ path }) => path);
}

/** Replaces older names in texts with present ones. */
function renameOlder(node: unknown, path: string, renames: Renames): void {
  if (isMap(node)) {
    for (const { key, value } of node.items) {
      const name = isScalar(key) ? String(key.value) : "";
      renameOlder(value, path === "" ? name : `${path}.${name}`, renames);
    }
  } else if (isSeq(node)) {
    for (const [at, item] of node.items.entries()) renameOlder(item, `${path}[${at}]`, renames);
  } else if (isScalar(node) && typeof node.value === "string") {
    const text = node.value;
    const own = (renames.get(path) ?? []).filter(({ source }) => source === text);
    // Replaces from the end, so that earlier offsets stay valid.
    node.value = own
      .toSorted((one, other) => other.from - one.from)
      .reduce((sofar, { from, to, name }) => sofar.slice(0, from) + name + sofar.slice(to), text);
  }
}
