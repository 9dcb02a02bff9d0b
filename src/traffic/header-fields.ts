import type { FieldBlock } from "../lib/field-block.ts";

/** Header fields in order. Names match in any case, and are sent in lower case. */
export interface HeaderFields {
  /** Returns the first value, or undefined. */
  get(name: string): string | undefined;
  getAll(name: string): readonly string[];
  has(name: string): boolean;
  /** Replaces every value of `name`. */
  set(name: string, value: string): void;
  append(name: string, value: string): void;
  /** Adds the fields of a block, before other added fields. */
  appendBlock(block: FieldBlock): void;
  delete(name: string): void;
  entries(): readonly (readonly [name: string, value: string])[];
}
