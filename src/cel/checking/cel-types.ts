/** Types, declared and inferred. */
import type { ValueKind } from "../values/cel-values.ts";

export type Type =
  | { readonly is: Exclude<ValueKind, "list" | "map" | "type"> | "dyn" }
  | { readonly is: "list"; readonly of: Type }
  | { readonly is: "map"; readonly key: Type; readonly of: Type }
  /** The type of types: `int` has type type(int). */
  | { readonly is: "type"; readonly of: Type }
  /** A map with declared keys, each with its own type. */
  | { readonly is: "object"; readonly name: string; readonly fields: ReadonlyMap<string, Type> }
  /** The type, or null. */
  | { readonly is: "nullable"; readonly of: Type }
  /** A type of the environment, whose values pass through unchanged. */
  | { readonly is: "opaque"; readonly name: string; readonly of: readonly Type[] }
  /** Stands for one type throughout an overload, or for an unknown type. */
  | { readonly is: "variable"; readonly name: string };

export const types = {
  null: { is: "null" },
  bool: { is: "bool" },
  int: { is: "int" },
  uint: { is: "uint" },
  double: { is: "double" },
  string: { is: "string" },
  bytes: { is: "bytes" },
  timestamp: { is: "timestamp" },
  duration: { is: "duration" },
  dyn: { is: "dyn" },
} as const satisfies Readonly<Record<string, Type>>;

export function listOf(of: Type): Type {
  return { is: "list", of };
}

export function mapOf(key: Type, of: Type): Type {
  return { is: "map", key, of };
}

export function typeOf(of: Type): Type {
  return { is: "type", of };
}

export function nullableType(of: Type): Type {
  return { is: "nullable", of };
}

export function variableType(name: string): Type {
  return { is: "variable", name };
}

/** `name` is for messages: "a cookie". */
export function objectType(name: string, fields: Readonly<Record<string, Type>>): Type {
  return { is: "object", name, fields: new Map(Object.entries(fields)) };
}

/** In the language's notation: `map(string, list(string))`. */
export function typeText(type: Type): string {
  switch (type.is) {
    case "list":
      return `list(${typeText(type.of)})`;
    case "map":
      return `map(${typeText(type.key)}, ${typeText(type.of)})`;
    case "type":
      return `type(${typeText(type.of)})`;
    case "nullable":
      return `wrapper(${typeText(type.of)})`;
    case "object":
      return type.name;
    case "opaque":
      return type.of.length === 0 ? type.name : `${type.name}(${type.of.map(typeText).join(", ")})`;
    case "variable":
      return type.name;
    default:
      return type.is;
  }
}

/** For a message: "a list of strings", "an int". */
export function typePhrase(type: Type): string {
  switch (type.is) {
    case "null":
      return "null";
    case "dyn":
    case "variable":
      return "a value of any type";
    case "bytes":
      return "bytes";
    case "list":
      return `a list${ofMany(type.of)}`;
    case "map":
      return `a map${ofMany(type.of)}`;
    case "type":
      return "a type";
    case "nullable":
      return typePhrase(type.of);
    default:
      return withArticle(typeText(type));
  }
}

/** "a uint", because it is pronounced with a consonant. */
function withArticle(noun: string): string {
  return `${/^[aeio]/i.test(noun) ? "an" : "a"} ${noun}`;
}

function ofMany(type: Type): string {
  switch (type.is) {
    case "dyn":
    case "variable":
      return "";
    case "bytes":
      return " of bytes";
    case "list":
      return ` of lists${ofMany(type.of)}`;
    case "map":
      return ` of maps${ofMany(type.of)}`;
    case "nullable":
      return ofMany(type.of);
    case "object":
      return ` of ${type.name}s`;
    default:
      return ` of ${typeText(type)}s`;
  }
}

/** Whether two types are equal in every part. @param look called for each compared part */
export function sameType(one: Type, other: Type, look: () => void): boolean {
  if (one === other) return true;
  look();
  if (one.is !== other.is) return false;
  switch (one.is) {
    case "list":
    case "type":
    case "nullable":
      return sameType(one.of, (other as typeof one).of, look);
    case "map":
      return sameType(one.key, (other as typeof one).key, look) && sameType(one.of, (other as typeof one).of, look);
    case "object":
    case "variable":
      return one.name === (other as typeof one).name;
    case "opaque": {
      const { name, of } = other as typeof one;
      return (
        one.name === name &&
        one.of.length === of.length &&
        one.of.every((type, at) => sameType(type, of[at] as Type, look))
      );
    }
    default:
      return true;
  }
}
