/**
 * Which type may stand where another is wanted. Type variables are bound on the way, as in the checker of CEL's
 * reference implementation, whose results the conformance tests compare.
 */
import { sameType, types, variableType } from "./types.ts";
import type { Type } from "./types.ts";

export class Bindings {
  #bound = new Map<string, Type>();
  #made = 0;

  fresh(): Type {
    this.#made += 1;
    return variableType(`_var${this.#made}`);
  }

  /** Whether each of `given` fits its place; binds variables only when all do. */
  fit(given: readonly Type[], wanted: readonly Type[]): boolean {
    const before = new Map(this.#bound);
    const fits = given.length === wanted.length && given.every((type, at) => this.#fits(type, wanted[at] as Type));
    if (!fits) this.#bound = before;
    return fits;
  }

  /** With variables of `own` replaced by fresh ones, the same for the same name. */
  instance(of: readonly Type[]): Type[] {
    const fresh = new Map<string, Type>();
    const replace = (type: Type): Type => {
      if (type.is !== "variable") return mapParts(type, replace);
      const known = fresh.get(type.name) ?? this.fresh();
      fresh.set(type.name, known);
      return known;
    };
    return of.map(replace);
  }

  /** The type with what is known of its variables. `isLast`: what is not known is dyn. */
  resolve(type: Type, isLast = false): Type {
    if (type.is === "variable") {
      const bound = this.#bound.get(type.name);
      if (bound) return this.resolve(bound, isLast);
      return isLast ? types.dyn : type;
    }
    return mapParts(type, (part) => this.resolve(part, isLast));
  }

  #fits(given: Type, wanted: Type): boolean {
    if (wanted.is === "variable") {
      const { isValid, isBound } = this.#bind(given, wanted);
      if (isValid) return true;
      if (isBound) return false;
    }
    if (given.is === "variable") return this.#bind(wanted, given).isValid;
    if (wanted.is === "dyn") return true;
    if (given.is === "dyn") return this.#loosen(wanted);
    if (given.is === "null") return takesNull(wanted);
    if (wanted.is === "null") return takesNull(given);
    if (given.is === "nullable") return this.#fits(given.of, wanted.is === "nullable" ? wanted.of : wanted);
    if (wanted.is === "nullable") return this.#fits(given, wanted.of);
    if (given.is !== wanted.is) return false;
    if (given.is === "type") return true;
    if (given.is === "object") return sameType(given, wanted);
    if (given.is === "opaque" && given.name !== (wanted as typeof given).name) return false;
    const [some, others] = [partsOf(given), partsOf(wanted)];
    return some.length === others.length && some.every((part, at) => this.#fits(part, others[at] as Type));
  }

  /** What comes out of a dyn may be anything: variables of what is wanted are dyn, or the results would lie. */
  #loosen(wanted: Type): true {
    if (wanted.is === "variable") this.#bind(types.dyn, wanted);
    for (const part of partsOf(wanted)) this.#loosen(part);
    return true;
  }

  /** Whether `variable` may stand for `type`. */
  #bind(type: Type, variable: Type & { is: "variable" }): { readonly isValid: boolean; readonly isBound: boolean } {
    if (sameType(type, variable)) return { isValid: true, isBound: true };
    const bound = this.#bound.get(variable.name);
    if (!bound) {
      const isValid = !this.#mentions(type, variable);
      if (isValid) this.#bound.set(variable.name, type);
      return { isValid, isBound: false };
    }
    if (sameType(type, bound)) return { isValid: true, isBound: true };
    if (!this.#fits(type, bound)) return { isValid: false, isBound: true };
    const general = moreGeneral(type, bound);
    if (!this.#mentions(general, variable)) this.#bound.set(variable.name, general);
    return { isValid: true, isBound: true };
  }

  #mentions(type: Type, variable: Type & { is: "variable" }): boolean {
    if (type.is !== "variable") return partsOf(type).some((part) => this.#mentions(part, variable));
    if (type.name === variable.name) return true;
    const bound = this.#bound.get(type.name);
    return bound !== undefined && this.#mentions(bound, variable);
  }
}

export function moreGeneral(one: Type, other: Type): Type {
  return isAsGeneral(one, other) ? one : other;
}

function isAsGeneral(one: Type, other: Type): boolean {
  if (one.is === "dyn" || one.is === "variable") return true;
  if (other.is === "dyn" || other.is === "variable") return false;
  if (one.is === "null") return other.is === "null";
  if (other.is === "null") return true;
  if (one.is === "nullable") return isAsGeneral(one.of, other.is === "nullable" ? other.of : other);
  if (one.is !== other.is) return false;
  if (one.is === "object" || one.is === "type") return one.is === "type" || sameType(one, other);
  const [some, others] = [partsOf(one), partsOf(other)];
  return some.length === others.length && some.every((part, at) => isAsGeneral(part, others[at] as Type));
}

function takesNull({ is }: Type): boolean {
  return ["null", "nullable", "object", "opaque", "timestamp", "duration"].includes(is);
}

function partsOf(type: Type): readonly Type[] {
  switch (type.is) {
    case "list":
    case "type":
    case "nullable":
      return [type.of];
    case "map":
      return [type.key, type.of];
    case "opaque":
      return type.of;
    default:
      return [];
  }
}

function mapParts(type: Type, change: (part: Type) => Type): Type {
  switch (type.is) {
    case "list":
    case "type":
    case "nullable":
      return { ...type, of: change(type.of) };
    case "map":
      return { ...type, key: change(type.key), of: change(type.of) };
    case "opaque":
      return { ...type, of: type.of.map(change) };
    default:
      return type;
  }
}
