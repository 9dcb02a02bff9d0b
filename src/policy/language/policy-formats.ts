/** Checks of strings in the configuration of actions. */
import { cidrIssue } from "../../lib/address.ts";
import type { StringFormat } from "../../schema/fields.ts";
import { parseDuration } from "./duration.ts";

/** A network, or a text with `${…}` that becomes one. */
export const networkText: StringFormat = {
  name: "cidr",
  example: "192.0.2.0/24",
  reason: "policy_cidr_invalid",
  check: (text) => (text.includes("${") ? undefined : cidrIssue(text)),
};

/** A duration in whole steps, ends included; step 0 allows any fraction. */
export function durationFormat(leastSeconds: number, mostSeconds: number, stepSeconds: number): StringFormat {
  const least = `${leastSeconds}s`;
  return {
    name: "duration",
    reason: "policy_value_refused",
    example: least,
    check(text) {
      const seconds = parseDuration(text);
      if (seconds === undefined) return 'be a duration, such as "90s" or "1h30m"';
      if (seconds < leastSeconds || seconds > mostSeconds) return `be from ${least} to ${mostSeconds}s`;
      return stepSeconds === 0 || seconds % stepSeconds === 0 ? undefined : `be a multiple of ${stepSeconds}s`;
    },
  };
}
