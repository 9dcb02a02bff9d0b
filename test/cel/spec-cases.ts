/** The cases of CEL's specification, and of cel-go's parser and checker tests, converted for our tests. */
import { tests as checking } from "@bufbuild/cel-spec/testdata/checking.js";
import { tests as conformance } from "@bufbuild/cel-spec/testdata/conformance.js";
import { tests as parsing } from "@bufbuild/cel-spec/testdata/parsing.js";
import { Dictionary } from "../../src/cel/values/map.ts";
import { listOf, mapOf, nullableType, typeOf, types } from "../../src/cel/checking/cel-types.ts";
import type { Type } from "../../src/cel/checking/cel-types.ts";
import { TypeValue, Uint } from "../../src/cel/values/cel-values.ts";
import type { Value } from "../../src/cel/values/cel-values.ts";
import { messageType } from "./spec-messages.ts";

export type Json = Readonly<Record<string, unknown>>;

export interface SpecCase {
  /** Suite and section, e.g. `lists/index`. */
  readonly section: string;
  /** Unique name, used in lists of cases. */
  readonly name: string;
  readonly expression: string;
  readonly original: Json;
  /** cel-go's output for its tree, and for its tree with types. */
  readonly ast: string | undefined;
  readonly checkedAst: string | undefined;
  readonly type: string | undefined;
  readonly error: string | undefined;
}

interface Suite {
  readonly name: string;
  readonly suites?: readonly Suite[];
  readonly tests?: readonly {
    readonly original: Json;
    readonly ast?: string;
    readonly checkedAst?: string;
    readonly type?: string;
    readonly error?: string;
  }[];
}

function casesOf(root: Suite): readonly SpecCase[] {
  const seen = new Map<string, number>();
  const flat = (suite: Suite, path: readonly string[]): SpecCase[] => [
    ...(suite.tests ?? []).map(({ original, ast, checkedAst, type, error }) => {
      const expression = String(original["expr"]);
      const named = original["name"];
      const title = typeof named === "string" ? named : expression.replaceAll(/\s+/g, " ").slice(0, 60).trim();
      const label = `${path.join("/")}/${title}`;
      const times = (seen.get(label) ?? 0) + 1;
      seen.set(label, times);
      const name = times === 1 ? label : `${label} (${times})`;
      return { section: path.join("/"), name, expression, original, ast, checkedAst, type, error };
    }),
    ...(suite.suites ?? []).flatMap((inner) => flat(inner, [...path, inner.name])),
  ];
  return flat(root, root === (conformance as unknown) ? [] : [root.name]);
}

const protobuf = /TestAllTypes|protobuf|type\.googleapis/;
const hasNoProtobuf = ({ original }: SpecCase): boolean => !protobuf.test(JSON.stringify(original));

const coreSuites = new Set([
  "basic",
  "comparisons",
  "conversions",
  "fields",
  "fp_math",
  "integer_math",
  "lists",
  "logic",
  "macros",
  "namespace",
  "parse",
  "plumbing",
  "string",
  "timestamps",
]);
const suiteOf = ({ section }: SpecCase): string => section.split("/", 1)[0] as string;
const everything = casesOf(conformance as unknown as Suite);
const all = everything.filter(hasNoProtobuf);
const inSuites = (names: ReadonlySet<string>): readonly SpecCase[] => all.filter((one) => names.has(suiteOf(one)));

/** The language without protobuf messages. */
export const coreCases = inSuites(coreSuites);
export const stringCases = inSuites(new Set(["string_ext"]));
export const typeCases = inSuites(new Set(["type_deductions"]));
/** The other suites, and how many cases of each use messages. */
export const otherCases = Map.groupBy(
  all.filter(
    (one) => !coreSuites.has(suiteOf(one)) && suiteOf(one) !== "string_ext" && suiteOf(one) !== "type_deductions",
  ),
  suiteOf,
);
export const messageCases = Map.groupBy(
  everything.filter((one) => !hasNoProtobuf(one)),
  suiteOf,
);
export const parsingCases = casesOf(parsing as unknown as Suite);
export const checkingCases = casesOf(checking as unknown as Suite);

/** Reads a type from protobuf's JSON. */
export function typeFrom(json: Json): Type {
  const [[kind, value]] = Object.entries(json) as [[string, Json & string]];
  switch (kind) {
    case "primitive":
      return primitives[value] as Type;
    case "wrapper":
      return nullableType(primitives[value] as Type);
    case "wellKnown":
      return value === "TIMESTAMP" ? types.timestamp : value === "DURATION" ? types.duration : types.dyn;
    case "listType":
      return listOf(typeFrom(value["elemType"] as Json));
    case "mapType":
      return mapOf(typeFrom(value["keyType"] as Json), typeFrom(value["valueType"] as Json));
    case "type":
      return typeOf(typeFrom(value));
    case "null":
      return types.null;
    case "typeParam":
      return { is: "variable", name: value };
    case "abstractType": {
      const of = ((value["parameterTypes"] as readonly Json[] | undefined) ?? []).map(typeFrom);
      return { is: "opaque", name: String(value["name"]), of };
    }
    case "messageType":
      return messageType(value);
    default:
      return types.dyn;
  }
}

const primitives: Readonly<Record<string, Type>> = {
  BOOL: types.bool,
  INT64: types.int,
  UINT64: types.uint,
  DOUBLE: types.double,
  STRING: types.string,
  BYTES: types.bytes,
};

/** Reads a value from protobuf's JSON. */
export function valueFrom(json: Json): Value {
  const [[kind, value]] = Object.entries(json) as [[string, unknown]];
  switch (kind) {
    case "int64Value":
      return BigInt(value as string);
    case "uint64Value":
      return new Uint(BigInt(value as string));
    case "doubleValue":
      return Number(value);
    case "bytesValue":
      return Buffer.from(value as string, "base64");
    case "typeValue":
      return new TypeValue(value as string);
    case "listValue":
      return (((value as Json)["values"] as readonly Json[] | undefined) ?? []).map(valueFrom);
    case "mapValue": {
      const map = new Dictionary();
      for (const entry of ((value as Json)["entries"] as readonly Json[] | undefined) ?? []) {
        map.add(valueFrom(entry["key"] as Json), valueFrom(entry["value"] as Json));
      }
      return map;
    }
    default:
      return value as Value;
  }
}
