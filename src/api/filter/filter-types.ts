/** Names and types that a filter may use, derived from the resource's declaration before any object is read. */
import { defineEnvironment } from "../../cel/checking/environment.ts";
import type { Environment, VariableDeclaration } from "../../cel/checking/environment.ts";
import { listOf, mapOf, nullableType, objectType, types } from "../../cel/checking/cel-types.ts";
import type { Type } from "../../cel/checking/cel-types.ts";
import { mixedEqualities, timeComparisons } from "../../cel/functions/comparisons.ts";
import { listFunctions } from "../../cel/functions/list-functions.ts";
import { standardFunctions } from "../../cel/functions/standard.ts";
import { stringFunctions } from "../../cel/functions/strings.ts";
import type { Value } from "../../cel/values/cel-values.ts";
import type { Field, Fields } from "../../schema/fields.ts";
import { resourceNamed } from "../operation/resource-declarations.ts";

type Json = Readonly<Record<string, Value>>;

const limits = { sourceLength: 1000, depth: 40, nodes: 100, steps: 500 };
/** Limit for an object with nested objects, such as an edge with routes. It allows one pass over a thousand of them. */
const stepsWithParts = 10_000;
/** Cached per resource, for callers who may see values that may contain secrets, and for callers who may not. */
const made = { whole: new WeakMap<Fields, Environment>(), concealed: new WeakMap<Fields, Environment>() };

/**
 * `obj`: the fields that clients see, without secrets. Values that may contain secrets are included only for callers
 * who may read them, because conditions can reveal a value bit by bit. Nested objects, such as the routes of an edge,
 * are lists. A comparison with a null or absent value is false. Numbers of all types compare with each other, because
 * JSON has only one type.
 */
export function filterEnvironment(fields: Fields, isLive: boolean, isSensitiveSeen = true): Environment {
  const cache = made[isSensitiveSeen ? "whole" : "concealed"];
  const known = cache.get(fields);
  if (known) return known;
  const identity = { id: types.string, uri: types.string, ...(!isLive && { created_at: types.string }) };
  const obj = objectType("object", {
    ...identity,
    ...typesOf(fields, isSensitiveSeen),
    ...partsOf(fields, isSensitiveSeen),
  });
  const hasParts = Object.values(fields).some(({ type }) => type === "children");
  const environment = defineEnvironment({
    variables: {
      obj: { type: obj, read: (object: Value) => object },
      ...declareReferences("obj", fields, isSensitiveSeen, (object) => object),
    },
    functions: [...standardFunctions, ...stringFunctions, ...listFunctions, ...mixedEqualities, ...timeComparisons],
    limits: hasParts ? { ...limits, steps: stepsWithParts } : limits,
    nulls: "quiet",
    mixesNumbers: true,
  });
  cache.set(fields, environment);
  return environment;
}

/**
 * Lists of references are lists of ids. They are declared as separate variables, which take precedence over the field
 * of the same name.
 */
function declareReferences(
  path: string,
  fields: Fields,
  isSensitiveSeen: boolean,
  from: (object: Json) => Value | undefined,
): Record<string, VariableDeclaration> {
  const found: Record<string, VariableDeclaration> = {};
  for (const [name, field] of Object.entries(fields)) {
    if (!isShown(field, isSensitiveSeen)) continue;
    const read = (object: Json): Value | undefined => fieldOf(from(object), name);
    if (field.type === "object")
      Object.assign(found, declareReferences(`${path}.${name}`, field.fields, isSensitiveSeen, read));
    if (field.type !== "refList") continue;
    found[`${path}.${name}`] = {
      type: nullableType(listOf(nullableType(types.string))),
      read: (object: Json) => idsOf(read(object)),
    };
  }
  return found;
}

function fieldOf(whole: Value | undefined, name: string): Value | undefined {
  return typeof whole === "object" && whole !== null && Object.hasOwn(whole, name) ? (whole as Json)[name] : undefined;
}

function idsOf(value: Value | undefined): Value | undefined {
  if (!Array.isArray(value)) return value;
  return value.map((item: Value) => fieldOf(item, "id") ?? item);
}

function isShown(field: Field, isSensitiveSeen: boolean): boolean {
  return (isSensitiveSeen || !field.sensitive) && !field.internal && !field.writeOnly && !field.secret;
}

/**
 * Returns the lists of nested objects, without their lists of references. Those become lists of ids only for `obj`
 * itself.
 */
function partsOf(fields: Fields, isSensitiveSeen: boolean): Record<string, Type> {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, field]) => {
      if (field.type !== "children") return [];
      const types = typesOf(withoutLists(resourceNamed(field.kind).fields), isSensitiveSeen);
      return [[name, listOf(objectType("object", { ...partIdentity, ...types }))]];
    }),
  );
}

const partIdentity = { id: types.string, uri: types.string, created_at: types.string };

function withoutLists(fields: Fields): Fields {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, field]) => {
      if (field.type === "refList") return [];
      return [[name, field.type === "object" ? { ...field, fields: withoutLists(field.fields) } : field]];
    }),
  );
}

function typesOf(fields: Fields, isSensitiveSeen: boolean): Record<string, Type> {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, field]) => {
      const type = typeOf(field, isSensitiveSeen);
      return type ? [[name, nullableType(type)]] : [];
    }),
  );
}

function typeOf(field: Field, isSensitiveSeen: boolean): Type | undefined {
  if (!isShown(field, isSensitiveSeen)) return undefined;
  switch (field.type) {
    case "string":
    case "oneOf":
    case "timestamp":
      return types.string;
    case "boolean":
      return types.bool;
    case "integer":
      return types.int;
    case "number":
      return types.double;
    case "ref":
      return field.bare
        ? types.string
        : objectType("reference", { id: nullableType(types.string), uri: nullableType(types.string) });
    case "refList":
      return listOf(nullableType(types.string));
    case "object":
      return objectType("object", typesOf(field.fields, isSensitiveSeen));
    case "list": {
      const of = typeOf(field.of, isSensitiveSeen);
      return of && listOf(nullableType(of));
    }
    case "map": {
      const of = typeOf(field.of, isSensitiveSeen);
      return of && mapOf(types.string, nullableType(of));
    }
    case "children":
      return undefined;
  }
}
