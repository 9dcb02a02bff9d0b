/** Kinds of values of the telemetry settings, in the forms that OpenTelemetry specifies for its variables. */
import type { Kind } from "./kind.ts";

/** Pairs as `KEY=VALUE,KEY=VALUE`, with values that may be percent-encoded. */
function pairs(isKey: RegExp, what: string): Kind<Readonly<Record<string, string>>> {
  return {
    placeholder: "KEY=VALUE,…",
    parse(given) {
      const found: Record<string, string> = {};
      for (const pair of given.split(",").map((one) => one.trim())) {
        if (pair === "") continue;
        const equals = pair.indexOf("=");
        const key = pair.slice(0, Math.max(0, equals)).trim();
        const value = decoded(pair.slice(equals + 1).trim());
        if (!isKey.test(key) || value === undefined || /[\r\n\0]/.test(value)) {
          throw new Error(`must be ${what} as KEY=VALUE, separated by commas, with special characters as %XX`);
        }
        found[key] = value;
      }
      return found;
    },
  };
}

export const resourceAttributes = pairs(/^[\w./-]{1,120}$/, "attributes");
export const exportHeaders = pairs(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,120}$/, "header fields");

/** A number from 0 to 1. */
export const ratio: Kind<number> = {
  placeholder: "RATIO",
  parse(given) {
    const number = Number(given);
    if (/^(?:\d+\.?\d*|\.\d+)$/.test(given) && number <= 1) return number;
    throw new Error("must be a number from 0 to 1, such as 0.01");
  },
};

function decoded(value: string): string | undefined {
  try {
    return decodeURIComponent(value);
  } catch {
    return undefined;
  }
}
