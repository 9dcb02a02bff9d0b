import type { Value } from "../../cel/values/cel-values.ts";

/** A cookie, in the form for expressions. */
export type Cookie = Readonly<Record<string, Value>>;

/** The cookies of one message. */
export interface Cookies {
  readonly byName: ReadonlyMap<string, readonly Cookie[]>;
}
