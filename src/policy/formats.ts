/** Checks of strings in the configuration of actions. */
import { Buffer } from "node:buffer";
import type { StringFormat } from "../schema/fields.ts";
import { parseDuration } from "./duration.ts";

export const webUrl: StringFormat = {
  name: "https-url",
  example: "https://idp.example.com/keys",
  check: (text) => (URL.parse(text)?.protocol === "https:" ? undefined : "be an https:// URL"),
};

/** `user:password`. */
export const userAndPassword: StringFormat = {
  name: "user-password",
  example: "user:password",
  check(text) {
    const colon = text.indexOf(":");
    if (colon < 1) return "be a user, a colon and a password";
    const bytes = Buffer.byteLength(text.slice(colon + 1));
    return bytes < 8 || bytes > 128 ? "have a password of 8 to 128 bytes" : undefined;
  },
};

/** A duration in whole steps, ends included; 0 for any fraction. */
export function duration(leastSeconds: number, mostSeconds: number, stepSeconds: number): StringFormat {
  const least = `${leastSeconds}s`;
  return {
    name: "duration",
    example: least,
    check(text) {
      const seconds = parseDuration(text);
      if (seconds === undefined) return 'be a duration, such as "90s" or "1h30m"';
      if (seconds < leastSeconds || seconds > mostSeconds) return `be from ${least} to ${mostSeconds}s`;
      return stepSeconds === 0 || seconds % stepSeconds === 0 ? undefined : `be a multiple of ${stepSeconds}s`;
    },
  };
}
