/** The contract of the tools that MCP clients call. */
import type { JsonObject } from "../../lib/json.ts";
import type { Api } from "./api-path.ts";
import type { KeptPlans } from "./kept-plans.ts";

/** What a tool has for one call. */
export interface ToolContext {
  readonly api: Api;
  readonly plans: KeptPlans;
  /** Id of the API key. */
  readonly keyId: string;
  /** Name of the client program, cleaned and bounded. */
  readonly client: string;
  /** Address of the API and its console, without a trailing slash. */
  readonly baseUrl: string;
  /**
   * Asks the person who uses the client. Resolves with undefined if the client cannot ask.
   * @returns whether the person agreed
   */
  confirm(question: string): Promise<boolean | undefined>;
  /** Resolves after the time. */
  pause(ms: number): Promise<void>;
}

export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** JSON Schemas of the arguments, by name. */
  readonly input: Readonly<Record<string, JsonObject>>;
  readonly required: readonly string[];
  /** Whether it may change the configuration. Offered only to clients that may. */
  readonly changes?: boolean;
  /** Whether it calls operations that only clients with the right to make changes may call. Default: as `changes`. */
  readonly needsWrite?: boolean;
  /** @returns text for the client. Throws `ToolError` and `Refusal`. */
  run(input: JsonObject, context: ToolContext): Promise<string>;
}

/** An error that the client sees as one sentence. */
export class ToolError extends Error {}

/** Returns an optional text argument. Throws `ToolError`. */
export function textOf(input: JsonObject, name: string, maxLength: number): string | undefined {
  const value = input[name];
  if (value === undefined || value === null || value === "") return undefined;
  if (typeof value === "string" && value.length <= maxLength) return value;
  throw new ToolError(`The argument "${name}" must be a text of at most ${maxLength} characters.`);
}

/** Returns a required text argument. Throws `ToolError`. */
export function requireText(input: JsonObject, name: string, maxLength: number): string {
  const value = textOf(input, name, maxLength);
  if (value === undefined) throw new ToolError(`The argument "${name}" is missing.`);
  return value;
}

/** Returns an optional whole number from 1. Throws `ToolError`. */
export function countOf(input: JsonObject, name: string, max: number): number | undefined {
  const value = input[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= max) return value;
  throw new ToolError(`The argument "${name}" must be a whole number from 1 to ${max}.`);
}
