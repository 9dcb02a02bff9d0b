/** Reads cases strictly: a misspelled field would check nothing. */
import type { JsonObject } from "../lib/json.ts";
import type { HeaderPairs } from "../traffic/header-list.ts";
import { suggestNearest } from "./policy-issue.ts";

/** Error in a file of cases, in one clause. */
export class CaseFault extends Error {}

export function requireKnown(object: JsonObject, known: readonly string[], where: string): void {
  const other = Object.keys(object).find((name) => !known.includes(name));
  if (other === undefined) return;
  const near = suggestNearest(other, known);
  throw new CaseFault(`${where} has the unknown key "${other}"; known are: ${known.join(", ")}${near}`);
}

/** Returns {} if the value is absent or "none". */
export function objectIn(object: JsonObject, name: string): JsonObject {
  const value = object[name];
  if (value === undefined || value === null || value === "none") return {};
  if (typeof value !== "object" || Array.isArray(value)) throw new CaseFault(`${name} must be a map`);
  return value as JsonObject;
}

/** Returns a map of maps. A null in it becomes an empty map. */
export function objectsIn(object: JsonObject, name: string): Readonly<Record<string, JsonObject>> {
  const all = objectIn(object, name);
  return Object.fromEntries(Object.keys(all).map((one) => [one, objectIn(all, one)]));
}

export function textIn(object: JsonObject, name: string, other: string): string {
  const value = object[name];
  if (value === undefined) return other;
  if (typeof value !== "string") throw new CaseFault(`${name} must be a text`);
  return value;
}

export function numberIn(object: JsonObject, name: string, other: number): number {
  const value = object[name];
  if (value === undefined) return other;
  if (typeof value !== "number") throw new CaseFault(`${name} must be a number`);
  return value;
}

/** Returns headers by lower-case name. Several values become a list. */
export function headersIn(object: JsonObject): HeaderPairs {
  return Object.entries(objectIn(object, "headers")).flatMap(([name, value]) =>
    [value].flat().map((one) => [name.toLowerCase(), String(one)] as const),
  );
}
