/**
 * Decides whether a type may be used where another is required, and binds type variables, like the checker of CEL's
 * reference implementation, with which the conformance tests compare results.
 */
import { sameType, types, variableType } from "./cel-types.ts";
import type { Type } from "./cel-types.ts";
import type { Spending } from "./function-declarations.ts";

/** Number of types visited per step. */
const typesPerStep = 16;

/** Types may share parts, and each loop can double their size, so every visited type is charged. */
export class Bindings {
  readonly #bound = new Map<string, Type>();
  /** Previous values of bindings that changed since the last `fit` started. */
  #changed: (readonly [name: string, before: Type | undefined])[] = [];
  readonly #budget: Spending;
  #looked = 0;
  #made = 0;

  constructor(budget: Spending) {
    this.#budget = budget;
  }

  #look(): void {
    this.#looked += 1;
    if (this.#looked % typesPerStep === 0) this.#budget.spend(1);
  }

  fresh(): Type {
    this.#made += 1;
    return variableType(`_var${this.#made}`);
  }

  /** Whether each given type fits. Binds variables only if all of them do. */
  fit(given: readonly Type[], wanted: readonly Type[]): boolean {
    this.#changed = [];
    const fits = given.length === wanted.length && given.every((type, at) => this.#fits(type, wanted[at] as Type));
    if (fits) return true;
    for (const [name, before] of this.#changed.reverse()) {
      if (before === undefined) this.#bound.delete(name);
      else this.#bound.set(name, before);
    }
    return false;
  }

  #set(name: string, type: Type): void {
    this.#changed.push([name, this.#bound.get(name)]);
    this.#bound.set(name, type);
  }

  /** Replaces the overload's own variables by fresh ones, consistently. */
  instance(of: readonly Type[]): Type[] {
    const fresh = new Map<string, Type>();
    const replace = (type: Type): Type => {
      this.#look();
      if (type.is !== "variable") return mapParts(type, replace);
      const known = fresh.get(type.name) ?? this.fresh();
      fresh.set(type.name, known);
      return known;
    };
    return of.map(replace);
  }

  /** Substitutes known variables. `isLast`: unknown ones become dyn. */
  resolve(type: Type, isLast = false): Type {
    this.#look();
    if (type.is === "variable") {
      const bound = this.#bound.get(type.name);
      if (bound) return this.resolve(bound, isLast);
      return isLast ? types.dyn : type;
    }
    return mapParts(type, (part) => this.resolve(part, isLast));
  }

  #fits(given: Type, wanted: Type): boolean {
    this.#look();
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
    if (given.is === "object") return this.same(given, wanted);
    if (given.is === "opaque" && given.name !== (wanted as typeof given).name) return false;
    const [some, others] = [partsOf(given), partsOf(wanted)];
    return some.length === others.length && some.every((part, at) => this.#fits(part, others[at] as Type));
  }

  /** A dyn value may be anything, so the variables of the required type become dyn. */
  #loosen(wanted: Type): true {
    this.#look();
    if (wanted.is === "variable") this.#bind(types.dyn, wanted);
    for (const part of partsOf(wanted)) this.#loosen(part);
    return true;
  }

  /** Whether `variable` may be bound to `type`. */
  #bind(type: Type, variable: Type & { is: "variable" }): { readonly isValid: boolean; readonly isBound: boolean } {
    if (this.same(type, variable)) return { isValid: true, isBound: true };
    const bound = this.#bound.get(variable.name);
    if (!bound) {
      const isValid = !this.#mentions(type, variable);
      if (isValid) this.#set(variable.name, type);
      return { isValid, isBound: false };
    }
    if (this.same(type, bound)) return { isValid: true, isBound: true };
    if (!this.#fits(type, bound)) return { isValid: false, isBound: true };
    const general = this.moreGeneral(type, bound);
    if (!this.#mentions(general, variable)) this.#set(variable.name, general);
    return { isValid: true, isBound: true };
  }

  /** Returns the type that the other one fits. */
  moreGeneral(one: Type, other: Type): Type {
    return isAsGeneral(one, other, () => this.#look()) ? one : other;
  }

  /** Whether two types are equal in every part. */
  same(one: Type, other: Type): boolean {
    return sameType(one, other, () => this.#look());
  }

  #mentions(type: Type, variable: Type & { is: "variable" }): boolean {
    this.#look();
    if (type.is !== "variable") return partsOf(type).some((part) => this.#mentions(part, variable));
    if (type.name === variable.name) return true;
    const bound = this.#bound.get(type.name);
    return bound !== undefined && this.#mentions(bound, variable);
  }
}

function isAsGeneral(one: Type, other: Type, look: () => void): boolean {
  look();
  if (one.is === "dyn" || one.is === "variable") return true;
  if (other.is === "dyn" || other.is === "variable") return false;
  if (one.is === "null") return other.is === "null";
  if (other.is === "null") return true;
  if (one.is === "nullable") return isAsGeneral(one.of, other.is === "nullable" ? other.of : other, look);
  if (one.is !== other.is) return false;
  if (one.is === "object" || one.is === "type") return one.is === "type" || sameType(one, other, look);
  const [some, others] = [partsOf(one), partsOf(other)];
  return some.length === others.length && some.every((part, at) => isAsGeneral(part, others[at] as Type, look));
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
    case "nullable": {
      const of = change(type.of);
      // Unchanged parts stay shared: a type with all its parts may be far larger than its source.
      return of === type.of ? type : { ...type, of };
    }
    case "map": {
      const [key, of] = [change(type.key), change(type.of)];
      return key === type.key && of === type.of ? type : { ...type, key, of };
    }
    case "opaque":
      return { ...type, of: type.of.map(change) };
    default:
      return type;
  }
}
