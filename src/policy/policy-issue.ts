import { findNearest } from "../lib/nearest.ts";
import type { RefusalName } from "../lib/errors.ts";
import type { Issue } from "../schema/fields.ts";

/** A valid part of a policy that its author may not have intended. */
export interface PolicyWarning {
  /** Path in the policy: `on_http_request[0].actions[1].config.status_code`; "" for the whole. */
  readonly path: string;
  /** For expressions, includes line and column, and a suggestion if there is one. */
  readonly message: string;
  /** Position in the text at `path`; absent if the issue concerns the whole text. */
  readonly at?: PlaceInText | undefined;
  /** Name of the data whose absence at a server the warning assumes. */
  readonly datum?: string | undefined;
}

export interface PlaceInText {
  readonly source: string;
  /** From 1. */
  readonly line: number;
  /** Code points, from 1. */
  readonly column: number;
}

/** One error in a policy. */
export interface PolicyIssue extends PolicyWarning {
  readonly reason: RefusalName;
}

/** As many as a person reads. */
export const maxPolicyIssues = 20;
/** Maximum characters of a name repeated in a message. */
const maxShown = 64;

export function shortenText(text: string): string {
  return text.slice(0, maxShown);
}

/** Returns `; did you mean "…"?`, or "". */
export function suggestNearest(text: string, known: Iterable<string>): string {
  const near = findNearest(shortenText(text), known);
  return near === undefined ? "" : `; did you mean "${near}"?`;
}

/** Returns the code for an issue with a field of an action. */
export function fieldReason({ path, message, reason }: Issue): RefusalName {
  if (reason?.startsWith("policy_")) return reason;
  if (reason === "cidr_invalid") return "policy_cidr_invalid";
  if (reason === "unknown_field") return "policy_config_unreadable";
  if (message.startsWith("is required")) return "policy_field_missing";
  if (message.startsWith("must have at most")) return path === "headers" ? "policy_headers_many" : "policy_list_long";
  if (/^must (?:have at least|not be empty)/.test(message)) return "policy_value_empty";
  if (/^must be at most \d+ bytes/.test(message)) return longReason(path);
  if (/^must be at least \d+ bytes/.test(message)) return "policy_text_short";
  if (message.startsWith("must be from")) return "policy_number_out_of_range";
  if (message.startsWith("must be one of"))
    return path.includes("algorithm") ? "policy_algorithm_unknown" : "policy_value_refused";
  if (message.startsWith("must not repeat")) return "policy_values_repeated";
  if (/^must be (?:a|an|true) /.test(message)) return "policy_config_unreadable";
  return "policy_value_invalid";
}

function longReason(path: string): RefusalName {
  if (path.startsWith("headers.")) return "policy_header_value_long";
  // Only webhooks have a field with this name.
  return path === "secret" ? "policy_webhook_secret_long" : "policy_text_long";
}
