/** The tools' way to the operations of the management API. */
import type { JsonObject } from "../../lib/json.ts";

export interface ApiCall {
  readonly method: "GET" | "POST" | "DELETE";
  /** With encoded ids, and with the query. */
  readonly path: string;
  readonly body?: JsonObject;
  /** Why a change is made, for the history. */
  readonly reason?: string;
  /**
   * Calls with all rights of the key. Without it, the call cannot change anything and sees no secrets, whatever the key
   * may do.
   */
  readonly withRightsOfKey?: boolean;
}

/** Resolves with the parsed body of a success. Rejects with `Refusal`. */
// The tools read the API's own answers, whose form its tests check.
// oxlint-disable-next-line typescript/no-explicit-any
export type Api = (call: ApiCall) => Promise<any>;

/** Returns a path with its values encoded. */
export function encodePath(parts: TemplateStringsArray, ...values: readonly (string | number)[]): string {
  return String.raw({ raw: parts.raw }, ...values.map((value) => encodeURIComponent(value)));
}
