/**
 * YAML 1.2 for values of JSON: a strict parser for untrusted text, and a writer whose output parses to exactly the same
 * value.
 */
import { toVisibleText } from "./visible-text.ts";
import type * as Yaml from "yaml";
import { JsonIssue, maxJsonDepth } from "./json.ts";
import type { JsonObject } from "./json.ts";
import { runAtOnce } from "./slices.ts";
import type { Steps } from "./slices.ts";
import { checkPlain, composerOptions, emptied, isLargeCollection, largeValue, loadYaml } from "./yaml-values.ts";

/**
 * Parses one object. Besides YAML's own errors, it rejects several documents, aliases, tags, names that are not strings
 * or `__proto__`, the same name twice, numbers that are not finite, and nesting deeper than 32.
 * @throws JsonIssue with the reason and the position
 */
export function parseYamlObject(text: string): JsonObject {
  return yamlObjectOf(runAtOnce(yamlSteps(text)));
}

/** @throws JsonIssue for a list */
export function yamlObjectOf({ value }: ReadYaml): JsonObject {
  if (Array.isArray(value)) throw new JsonIssue("is not a YAML object");
  return value as JsonObject;
}

/** Same as `parseYamlObject`, for an object or a list. */
export function parseYaml(text: string): unknown {
  return runAtOnce(yamlSteps(text)).value;
}

/** A parsed text. */
export interface ReadYaml {
  readonly value: unknown;
  /**
   * Returns the line, from 1, where the value at `path` begins; for an absent value, the line of its nearest parent.
   */
  lineOf(path: readonly (string | number)[]): number | undefined;
  /**
   * The characters of the unquoted scalar at `path`, exactly as the author wrote them; undefined for any other node.
   */
  written(path: readonly (string | number)[]): string | undefined;
}

/** Same as `parseYaml`, in steps. Each step takes about as long for a long text as for a short one. */
export function* yamlSteps(text: string): Steps<ReadYaml> {
  let document: ParsedDocument;
  try {
    document = yield* documentSteps(text);
    checkPlain(document.value, 1);
  } catch (error) {
    if (error instanceof JsonIssue) throw error;
    if (error instanceof RangeError) throw new JsonIssue(`is nested deeper than ${maxJsonDepth}`);
    throw new JsonIssue(`is not valid YAML: ${error instanceof Error ? error.message : String(error)}`);
  }
  const { value, root } = document;
  if (typeof value !== "object" || value === null) throw new JsonIssue("is not a YAML object");
  return {
    value,
    lineOf: (path) => lineAt(text, placeIn(root, path).start),
    written(path) {
      const { start, end, style, isExact } = placeIn(root, path);
      return isExact && style === "plain" ? text.slice(start, end) : undefined;
    },
  };
}

interface ParsedDocument {
  readonly value: unknown;
  /** The token of the value. */
  readonly root: Yaml.CST.Token | undefined;
}

/** Parses a text with one document. Throws the first problem. */
function* documentSteps(text: string): Steps<ParsedDocument> {
  const { Composer, LineCounter } = loadYaml();
  const lines = new LineCounter();
  lines.addNewLine(0);
  const failed = (problem: Yaml.YAMLError): JsonIssue => {
    const { line, col } = lines.linePos(problem.pos[0]);
    const [message] = problem.message.split("\n", 1);
    return new JsonIssue(`is not valid YAML: ${message} at line ${line}, column ${col}`);
  };
  const composer = new Composer(composerOptions);
  const documents: Yaml.Document.Parsed[] = [];
  const add = (more: Iterable<Yaml.Document.Parsed>): void => {
    for (const document of more) {
      const problem = document.errors[0] ?? document.warnings[0];
      if (problem) throw failed(problem);
      documents.push(document);
      if (documents.length > 1) throw new JsonIssue("is not one YAML document");
    }
  };
  let root: Yaml.CST.Token | undefined;
  for (const token of yield* tokenSteps(text, lines)) {
    if (token.type === "document") root = token.value;
    add(composer.next(token.type === "document" ? withSmallValue(token) : token));
  }
  add(composer.end());
  const [document] = documents;
  if (!document) throw new JsonIssue("is not one YAML document");
  const value: unknown = isLargeCollection(root)
    ? yield* largeValue(root, 1, failed)
    : document.toJS({ maxAliasCount: 0 });
  return { value, root };
}

/** The library checks the text around a large collection without its items. */
function withSmallValue(document: Yaml.CST.Document): Yaml.CST.Document {
  return isLargeCollection(document.value) ? { ...document, value: emptied(document.value) } : document;
}

/** Lexemes between two steps. */
const lexemesPerStep = 64;

function* tokenSteps(text: string, lines: Yaml.LineCounter): Steps<readonly Yaml.CST.Token[]> {
  const { Lexer, Parser } = loadYaml();
  const parser = new Parser(lines.addNewLine);
  const tokens: Yaml.CST.Token[] = [];
  let count = 0;
  for (const lexeme of new Lexer().lex(text)) {
    tokens.push(...parser.next(lexeme));
    count += 1;
    if (count % lexemesPerStep === 0) yield;
  }
  tokens.push(...parser.end());
  return tokens;
}

export function renderYaml(value: JsonObject): string {
  const { Document, Scalar, visit } = loadYaml();
  const document = new Document(value, { version: "1.2", schema: "core", aliasDuplicateObjects: false });
  visit(document, {
    Scalar(_, scalar) {
      const text = scalar.value;
      // Only escapes survive UTF-8, and a terminal.
      if (typeof text === "string" && (!text.isWellFormed() || toVisibleText(text) !== text)) {
        scalar.type = Scalar.QUOTE_DOUBLE;
      }
    },
  });
  return document.toString({ lineWidth: 0 });
}

/** Position and style of a value in a text. Offsets in UTF-16 code units. */
export interface YamlPlace {
  readonly start: number;
  /** End of the text of a quoted or unquoted scalar. */
  readonly end: number;
  readonly style: "plain" | "single" | "double" | "block" | "other";
  /** Whether the path led to the value, and not only to its parent. */
  readonly isExact: boolean;
}

/**
 * Parses a text once. Returns a function that locates the value at a path. An absent value has the place of its nearest
 * parent.
 */
export function yamlPlaces(text: string): (path: readonly (string | number)[]) => YamlPlace | undefined {
  const document = runAtOnce(tokenSteps(text, new (loadYaml().LineCounter)())).find(({ type }) => type === "document");
  const root = document?.type === "document" ? document.value : undefined;
  return (path) => root && placeIn(root, path);
}

function placeIn(root: Yaml.CST.Token | undefined, path: readonly (string | number)[]): YamlPlace {
  let token = root;
  let isExact = true;
  for (const key of path) {
    const inner = token && valueAt(token, key);
    if (!inner) {
      isExact = false;
      break;
    }
    token = inner;
  }
  const start = token?.offset ?? 0;
  const source = token && "source" in token ? token.source : "";
  return { start, end: start + source.length, style: styles[token?.type ?? ""] ?? "other", isExact };
}

/** Returns the token of a field or of an item. */
function valueAt(token: Yaml.CST.Token, key: string | number): Yaml.CST.Token | undefined {
  const { CST } = loadYaml();
  if (!CST.isCollection(token)) return undefined;
  const items: readonly Yaml.CST.CollectionItem[] = token.items;
  const isList = token.type === "block-seq" || (token.type === "flow-collection" && token.start.source === "[");
  if (isList) return items.filter((item) => item.value ?? item.key)[Number(key)]?.value;
  return items.find((item) => CST.isScalar(item.key) && CST.resolveAsScalar(item.key, false).value === String(key))
    ?.value;
}

function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split("\n").length;
}

const styles: Readonly<Record<string, YamlPlace["style"]>> = {
  scalar: "plain",
  "single-quoted-scalar": "single",
  "double-quoted-scalar": "double",
  "block-scalar": "block",
};
