/**
 * YAML 1.2 for values of JSON: a strict parser for untrusted text, and a writer whose output parses to exactly the same
 * value.
 */
import { createRequire } from "node:module";
import { visibleText } from "./visible-text.ts";
import type * as Yaml from "yaml";
import { JsonIssue, maxJsonDepth } from "./json.ts";
import type { JsonObject } from "./json.ts";
import { runAtOnce } from "./slices.ts";
import type { Steps } from "./slices.ts";

const require = createRequire(import.meta.url);
/** Loaded with the first text: otherwise every start would wait for its seventy files. */
const library = (): typeof Yaml => require("yaml") as typeof Yaml;

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

/** Tokens between two steps. */
const tokensPerStep = 64;

/**
 * Same as `parseYaml`, in steps. Only the last steps, which build the value, grow with the text. They are a small part.
 */
export function* yamlSteps(text: string): Steps<ReadYaml> {
  let value: unknown;
  let document: Yaml.Document.Parsed | undefined;
  try {
    const documents = yield* documentSteps(text);
    if (documents.length !== 1) throw new JsonIssue("is not one YAML document");
    [document] = documents;
    value = document?.toJS({ maxAliasCount: 0 });
  } catch (error) {
    if (error instanceof JsonIssue) throw error;
    if (error instanceof RangeError) throw new JsonIssue(`is nested deeper than ${maxJsonDepth}`);
    throw new JsonIssue(`is not valid YAML: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (typeof value !== "object" || value === null) throw new JsonIssue("is not a YAML object");
  yield;
  checkPlain(value, 1);
  return {
    value,
    lineOf(path) {
      const place = document && placeIn(document, path);
      return place && lineAt(text, place.start);
    },
    written(path) {
      const place = document && placeIn(document, path);
      return place?.isExact && place.style === "plain" ? text.slice(place.start, place.end) : undefined;
    },
  };
}

/** Same as `parseAllDocuments` of the library, in steps. Throws the first problem. */
function* documentSteps(text: string): Steps<readonly Yaml.Document.Parsed[]> {
  const { Lexer, Parser, Composer, LineCounter } = library();
  const lines = new LineCounter();
  const parser = new Parser(lines.addNewLine);
  const composer = new Composer({ version: "1.2", schema: "core", stringKeys: true, logLevel: "silent" });
  const documents: Yaml.Document.Parsed[] = [];
  const add = (document: Yaml.Document.Parsed): void => {
    const problem = document.errors[0] ?? document.warnings[0];
    if (problem) {
      const { line, col } = lines.linePos(problem.pos[0]);
      const [message] = problem.message.split("\n", 1);
      throw new JsonIssue(`is not valid YAML: ${message} at line ${line}, column ${col}`);
    }
    documents.push(document);
  };
  lines.addNewLine(0);
  let count = 0;
  for (const lexeme of new Lexer().lex(text)) {
    for (const token of parser.next(lexeme)) for (const document of composer.next(token)) add(document);
    count += 1;
    if (count % tokensPerStep === 0) yield;
  }
  for (const token of parser.end()) {
    yield;
    for (const document of composer.next(token)) add(document);
  }
  for (const document of composer.end()) add(document);
  return documents;
}

function checkPlain(value: unknown, depth: number): void {
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

export function renderYaml(value: JsonObject): string {
  const { Document, Scalar, visit } = library();
  const document = new Document(value, { version: "1.2", schema: "core", aliasDuplicateObjects: false });
  visit(document, {
    Scalar(_, scalar) {
      const text = scalar.value;
      // Only escapes survive UTF-8, and a terminal.
      if (typeof text === "string" && (!text.isWellFormed() || visibleText(text) !== text)) {
        scalar.type = Scalar.QUOTE_DOUBLE;
      }
    },
  });
  return document.toString({ lineWidth: 0 });
}

/** Position and style of a value in a text. Offsets in UTF-16 code units. */
export interface YamlPlace {
  readonly start: number;
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
  const { parseAllDocuments } = library();
  const [document] = parseAllDocuments(text, { version: "1.2", schema: "core", logLevel: "silent" });
  return (path) => (document && "getIn" in document ? placeIn(document, path) : undefined);
}

function placeIn(document: Yaml.Document.Parsed, path: readonly (string | number)[]): YamlPlace | undefined {
  const { isNode, isScalar } = library();
  for (let length = path.length; length >= 0; length -= 1) {
    const node: unknown = document.getIn(path.slice(0, length), true);
    const range = isNode(node) ? node.range : undefined;
    if (!range) continue;
    const type = isScalar(node) ? node.type : undefined;
    return { start: range[0], end: range[1], style: styles[type ?? ""] ?? "other", isExact: length === path.length };
  }
  return undefined;
}

function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split("\n").length;
}

const styles: Readonly<Record<string, YamlPlace["style"]>> = {
  PLAIN: "plain",
  QUOTE_SINGLE: "single",
  QUOTE_DOUBLE: "double",
  BLOCK_LITERAL: "block",
};
