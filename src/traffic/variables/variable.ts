import type { Exchange } from "../exchange.ts";

/** A variable of header values, as it is declared. */
export interface VariableDeclaration {
  /** One clause, without full stop. */
  readonly doc: string;
  /** Text as it was sent, such as a path or a header field: its `%` stay in header values. */
  readonly isVerbatim?: true;
  /** Reads it; "" when there is nothing to read. */
  readonly read: (exchange: Exchange) => string;
}

/** A variable with names of its own below it, such as the fields of a header. */
export interface CollectionDeclaration {
  readonly doc: string;
  readonly isVerbatim?: true;
  /** Makes the variable for a name. */
  readonly under: (name: string) => VariableDeclaration["read"];
}

export type Variables = Readonly<Record<string, VariableDeclaration>>;

/** A variable of the specification that is empty whenever headers are written. @param why one clause */
export function empty(why: string): VariableDeclaration {
  return { doc: `always empty: ${why}`, read: () => "" };
}
