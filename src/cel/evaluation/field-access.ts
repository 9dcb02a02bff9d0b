/** Compiles `a.b`, `a['b']` and `has(a.b)`. */
import { adaptValue, adapterOf, zeroOf } from "./adapt.ts";
import { CelFailure } from "../values/cel-failure.ts";
import { mapGet, mapHas } from "../values/map.ts";
import { MapValue } from "../values/cel-values.ts";
import { shortenName } from "../checking/hints.ts";
import type { Result, Run } from "../values/budget.ts";
import type { Type } from "../checking/cel-types.ts";
import { kindOf, Uint } from "../values/cel-values.ts";
import type { Value } from "../values/cel-values.ts";
import { failureAt } from "./part.ts";
import type { Evaluate, CompiledPart } from "./part.ts";

/**
 * `variable['key']` of a variable that can read a single key, or of any map with a literal key, whose failure is then
 * created once. Returns undefined for anything else.
 */
export function keyOf({ evaluate, type, reading }: CompiledPart, key: CompiledPart, at: number): Evaluate | undefined {
  const { constant } = key;
  if (typeof constant !== "string" || type.is !== "map") return undefined;
  const missing = failNoKey(constant, at);
  const item = reading?.item;
  if (reading && item) {
    const { cost } = reading;
    if (cost) {
      return (run) => {
        const spent = run.spend(cost(run.activation));
        return spent ?? item(run.activation, constant) ?? missing;
      };
    }
    return ({ activation }) => {
      const found = item(activation, constant);
      return found === undefined ? missing : found;
    };
  }
  return (run) => {
    const from = evaluate(run);
    if (from instanceof CelFailure) return from;
    if (kindOf(from) !== "map") return readIndex(from, constant, at, run);
    const found = mapGet(from as Record<string, Value>, constant);
    return found === undefined ? missing : found;
  };
}

/** `'key' in variable` of a variable that can read a single key; undefined for anything else. */
export function keyIn(whole: CompiledPart | undefined, key: CompiledPart | undefined): Evaluate | undefined {
  const { item, cost } = whole?.reading ?? {};
  const constant = key?.constant;
  if (!item || typeof constant !== "string") return undefined;
  if (cost) return (run) => run.spend(cost(run.activation)) ?? item(run.activation, constant) !== undefined;
  return ({ activation }) => item(activation, constant) !== undefined;
}

/** Selects a key of a map. An absent key is a failure. */
export function selectKey(operand: Evaluate, field: string, at: number, quietNulls: boolean): Evaluate {
  return (run) => {
    const from = operand(run);
    if (typeof from !== "object" || from === null)
      return quietNulls && from === null ? null : failNoFields(from, field, at);
    if (from instanceof CelFailure) return from;
    if (!(from instanceof MapValue) && kindOf(from) !== "map") return failNoFields(from, field, at);
    const value = mapGet(from as Record<string, Value>, field);
    return value ?? (value === null || quietNulls ? null : failNoKey(field, at));
  };
}

/** Selects a field of an object with declared fields. An absent field has the zero of its type. */
export function selectField(operand: Evaluate, field: string, type: Type, at: number, quietNulls: boolean): Evaluate {
  const adapt = adapterOf(type);
  const zero = quietNulls ? null : zeroOf(type);
  return (run) => {
    const from = operand(run);
    if (typeof from !== "object" || from === null)
      return quietNulls && from === null ? null : failNoFields(from, field, at);
    if (from instanceof CelFailure) return from;
    const value = mapGet(from as Record<string, Value>, field);
    if (value === undefined || value === null) return zero ?? value ?? null;
    return adapt ? adaptValue(adapt, value, run) : value;
  };
}

export function hasField(
  operand: Evaluate,
  field: string,
  isDeclared: boolean,
  at: number,
  quietNulls: boolean,
): Evaluate {
  return (run) => {
    const from = operand(run);
    if (from instanceof CelFailure) return from;
    if (quietNulls && from === null) return false;
    if (kindOf(from) !== "map") return failNoFields(from, field, at);
    const map = from as Record<string, Value>;
    return mapHas(map, field) && (!isDeclared || mapGet(map, field) !== null);
  };
}

/** `from[key]`. */
export function readIndex(from: Value, key: Value, at: number, run: Run): Result {
  const spent = spendKey(key, run);
  if (spent) return spent;
  if (typeof from === "object" && from !== null) {
    if (Array.isArray(from)) return readItem(from as readonly Value[], key, at);
    if (kindOf(from) === "map") {
      const value = mapGet(from as Record<string, Value>, key);
      return value === undefined ? failNoKey(key, at) : value;
    }
  }
  return failureAt(`a value of type ${kindOf(from)} has no items`, at);
}

/** `has(from[key])`. */
export function hasItem(from: Value, key: Value, run: Run): Result {
  const spent = spendKey(key, run);
  if (spent) return spent;
  if (Array.isArray(from)) {
    const place = placeOf(key);
    return place !== undefined && place >= 0 && place < from.length;
  }
  if (kindOf(from) === "map") return mapHas(from as Record<string, Value>, key);
  return new CelFailure(`a value of type ${kindOf(from)} has no items`);
}

/** Looking a text up among keys reads all of it once. */
export function spendKey(key: Value, run: Run): CelFailure | undefined {
  return typeof key === "string" && key.length > 64 ? run.spendText(key.length) : undefined;
}

function readItem(list: readonly Value[], key: Value, at: number): Result {
  const place = placeOf(key);
  if (place === undefined) return failureAt(`a list has no item ${describeKey(key)}`, at);
  const value = place >= 0 && place < list.length ? list[place] : undefined;
  if (value !== undefined) return value;
  return failureAt(`there is no item ${place} in a list of ${list.length}`, at);
}

function placeOf(key: Value): number | undefined {
  if (typeof key === "bigint") return Number(key);
  if (key instanceof Uint) return Number(key.value);
  return typeof key === "number" && Number.isInteger(key) ? key : undefined;
}

function failNoKey(key: Value, at: number): CelFailure {
  return failureAt(`there is no key ${describeKey(key)}`, at);
}

function failNoFields(from: Value, field: string, at: number): CelFailure {
  return failureAt(`a value of type ${kindOf(from)} has no field "${shortenName(field)}"`, at);
}

function describeKey(key: Value): string {
  if (typeof key === "string") return JSON.stringify(shortenName(key));
  if (key instanceof Uint) return `${key.value}u`;
  return typeof key === "object" ? `of type ${kindOf(key)}` : String(key);
}
