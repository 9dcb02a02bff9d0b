/**
 * Composes values from the tokens of a YAML text, in short steps. The library composes a document in one piece, and compares
 * each name of a mapping with all others. So this file hands it small parts of large collections.
 */
import { createRequire } from "node:module";
import type * as Yaml from "yaml";
import { JsonIssue, maxJsonDepth } from "./json.ts";
import type { JsonObject } from "./json.ts";
import type { Steps } from "./slices.ts";

const require = createRequire(import.meta.url);
/** Loaded with the first text: otherwise every start would wait for its seventy files. */
export const loadYaml = (): typeof Yaml => require("yaml") as typeof Yaml;

export const composerOptions = { version: "1.2", schema: "core", stringKeys: true, logLevel: "silent" } as const;

type Collection = Yaml.CST.BlockMap | Yaml.CST.BlockSequence | Yaml.CST.FlowCollection;
type Item = Yaml.CST.CollectionItem;

/** Tokens that the library composes in one step. */
const maxTokens = 64;

export function isLargeCollection(token: Yaml.CST.Token | null | undefined): token is Collection {
  return isCollection(token) && countTokens(token, maxTokens) > maxTokens;
}

/** Returns the collection without its items. The library can check the text around the collection with it. */
export function emptied(token: Collection): Collection {
  return { ...token, items: [] };
}

/**
 * Returns the value of a large collection.
 * @param depth levels of nesting above it
 * @param failed makes the error for a message of the library
 */
export function* largeValue(
  token: Collection,
  depth: number,
  failed: (error: Yaml.YAMLError) => JsonIssue,
): Steps<unknown> {
  if (depth > maxJsonDepth) throw new JsonIssue(`is nested deeper than ${maxJsonDepth}`);
  const list: unknown[] = [];
  const object: Record<string, unknown> = {};
  for (const { items, large } of partsOf(token)) {
    yield;
    const part = compose({ ...token, offset: offsetOf(items, token), items } as Collection, depth, failed);
    if (large) fill(part, yield* largeValue(large, depth + 1, failed));
    if (Array.isArray(part)) list.push(...(part as unknown[]));
    else addFields(object, part as JsonObject);
  }
  return isMapping(token) ? object : list;
}

/** Offset of a collection that begins with the first of `items`. */
function offsetOf([first]: readonly Item[], token: Collection): number {
  const offset = first?.start[0]?.offset ?? first?.key?.offset ?? first?.sep?.[0]?.offset ?? first?.value?.offset;
  if (offset === undefined) return token.offset;
  return token.type === "flow-collection" ? offset - token.start.source.length : offset;
}

function compose(token: Collection, depth: number, failed: (error: Yaml.YAMLError) => JsonIssue): unknown {
  const composer = new (loadYaml().Composer)(composerOptions);
  const part = { type: "document" as const, offset: token.offset, start: [], value: token };
  const [document] = [...composer.next(part), ...composer.end()];
  const problem = document?.errors[0] ?? document?.warnings[0];
  if (problem) throw failed(problem);
  const value: unknown = document?.toJS({ maxAliasCount: 0 });
  checkPlain(value, depth);
  return value;
}

interface Part {
  readonly items: Item[];
  /** A large collection in the only item, which has an empty collection instead. */
  readonly large?: Collection;
}

/** Splits a collection into parts of about `maxTokens`. */
function* partsOf(token: Collection): Generator<Part> {
  const isFlow = token.type === "flow-collection";
  let items: Item[] = [];
  let tokens = 0;
  for (const [index, item] of (token.items as Item[]).entries()) {
    if (isFlow && index < token.items.length - 1 && isEmpty(item)) {
      throw new JsonIssue("is not valid YAML: it has an empty item between commas");
    }
    if (isLargeCollection(item.key)) throw new JsonIssue("has a name that is not a string");
    const large = isLargeCollection(item.value) ? item.value : undefined;
    tokens += countItemTokens(item, maxTokens);
    if (items.length > 0 && tokens > maxTokens) {
      yield { items };
      items = [];
      tokens = countItemTokens(item, maxTokens);
    }
    const first = items.length === 0 && isFlow && index > 0 ? withoutComma(item) : item;
    if (large) {
      yield { items: [{ ...first, value: emptied(large) }], large };
      tokens = 0;
    } else {
      items.push(first);
    }
  }
  if (items.length > 0) yield { items };
}

function isEmpty({ start, key, sep, value }: Item): boolean {
  return !key && !sep && !value && start.every(({ type }) => type === "comma" || blank.has(type));
}

const blank: ReadonlySet<string> = new Set(["space", "newline", "comment"]);

/** The library expects no comma before the first item of a part. */
function withoutComma(item: Item): Item {
  const comma = item.start.findIndex(({ type }) => type === "comma");
  if (comma !== -1) return { ...item, start: item.start.toSpliced(comma, 1) };
  // Blanks can follow the last item.
  if (isEmpty(item)) return item;
  throw new JsonIssue("is not valid YAML: a comma between two items is missing");
}

/** Replaces the only value in `part`. An item of a list can be an object with one field, `[a: value]`. */
function fill(part: unknown, value: unknown): void {
  const [only] = Object.entries(part as object) as [string, unknown][];
  if (!only) return;
  const [name, inner] = only;
  if (Array.isArray(part) && typeof inner === "object" && inner !== null && Object.keys(inner).length === 1) {
    fill(inner, value);
  } else {
    (part as Record<string, unknown>)[name] = value;
  }
}

function addFields(object: Record<string, unknown>, fields: JsonObject): void {
  for (const [name, value] of Object.entries(fields)) {
    if (Object.hasOwn(object, name)) throw new JsonIssue(`is not valid YAML: it has the name "${name}" twice`);
    object[name] = value;
  }
}

/** Checks that a value is one of JSON. @param depth levels of nesting above it */
export function checkPlain(value: unknown, depth: number): void {
  if (value === null || typeof value === "string" || typeof value === "boolean") return;
  if (typeof value === "number" && Number.isFinite(value)) return;
  if (typeof value !== "object") throw new JsonIssue("has a value that JSON does not have");
  if (depth > maxJsonDepth) throw new JsonIssue(`is nested deeper than ${maxJsonDepth}`);
  if (Array.isArray(value)) return value.forEach((item) => checkPlain(item, depth + 1));
  if (Object.getPrototypeOf(value) !== Object.prototype) throw new JsonIssue("has a value that JSON does not have");
  for (const [name, inner] of Object.entries(value)) {
    if (name === "__proto__") throw new JsonIssue('has the name "__proto__"');
    checkPlain(inner, depth + 1);
  }
}

function isCollection(token: Yaml.CST.Token | null | undefined): token is Collection {
  return token?.type === "block-map" || token?.type === "block-seq" || token?.type === "flow-collection";
}

function isMapping(token: Collection): boolean {
  return token.type === "block-map" || (token.type === "flow-collection" && token.start.source === "{");
}

/** Counts the tokens of a value. Stops beyond `most`. */
function countTokens(token: Yaml.CST.Token | null | undefined, most: number): number {
  if (!isCollection(token)) return 1;
  let count = 1;
  for (const item of token.items as Item[]) {
    count += countItemTokens(item, most - count);
    if (count > most) break;
  }
  return count;
}

function countItemTokens({ start, key, sep, value }: Item, most: number): number {
  let count = 1 + start.length + (sep?.length ?? 0);
  if (count <= most) count += countTokens(key, most - count);
  if (count <= most) count += countTokens(value, most - count);
  return count;
}
