import { nearest } from "../lib/nearest.ts";
import type { RefusalName } from "../lib/errors.ts";
import type { Issue } from "../schema/fields.ts";

/** Something in a policy that its reader may not have meant; it is taken all the same. */
export interface PolicyWarning {
  /** Where in the policy: `on_http_request[0].actions[1].config.status_code`; "" for the whole. */
  readonly path: string;
  /** With line and column where it is about an expression, and what was probably meant. */
  readonly message: string;
  /** Where in the text that stands at `path`; absent where it is about the whole of it. */
  readonly at?: PlaceInText | undefined;
}

export interface PlaceInText {
  readonly source: string;
  /** From 1. */
  readonly line: number;
  /** Code points, from 1. */
  readonly column: number;
}

/** One thing wrong with a policy. */
export interface PolicyIssue extends PolicyWarning {
  readonly reason: RefusalName;
}

/** As many as a person reads. */
export const maxPolicyIssues = 20;
/** Characters of a name that a message repeats. */
const maxShown = 64;

export function shortened(text: string): string {
  return text.slice(0, maxShown);
}

/** `; did you mean "…"?`, or nothing. */
export function didYouMean(given: string, known: Iterable<string>): string {
  const near = nearest(shortened(given), known);
  return near === undefined ? "" : `; did you mean "${near}"?`;
}

/** The code under which what is wrong with an action's field is known. */
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
  // Only webhooks have a field of that name.
  return path === "secret" ? "policy_webhook_secret_long" : "policy_text_long";
}
