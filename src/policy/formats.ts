/** Checks of strings in the configuration of actions. */
import type { StringFormat } from "../schema/fields.ts";
import { parseDuration } from "./duration.ts";

/** A duration in whole steps, ends included; 0 for any fraction. */
export function duration(leastSeconds: number, mostSeconds: number, stepSeconds: number): StringFormat {
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
