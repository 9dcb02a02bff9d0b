import type { Exchange } from "../exchange.ts";

/** The declaration of a header value variable. */
export interface VariableDeclaration {
  /** One clause, without full stop. */
  readonly doc: string;
  /** The text is as sent, such as a path or header field, so its `%` stay in header values. */
  readonly isVerbatim?: true;
  /** Returns "" if there is no value. */
  readonly read: (exchange: Exchange) => string;
}

/** A variable with named members, such as the fields of a header. */
export interface CollectionDeclaration {
  readonly doc: string;
  readonly isVerbatim?: true;
  /** Creates the variable for a name. */
  readonly under: (name: string) => VariableDeclaration["read"];
}

export type Variables = Readonly<Record<string, VariableDeclaration>>;

/**
 * A variable of the specification that is always empty when headers are written.
 * @param why one clause
 */
export function declareEmpty(why: string): VariableDeclaration {
  return { doc: `always empty: ${why}`, read: () => "" };
}
