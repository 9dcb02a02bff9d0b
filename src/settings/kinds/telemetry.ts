/** Kinds of values of the telemetry settings, in the forms that OpenTelemetry specifies for its variables. */
import type { SettingKind } from "./kind.ts";

/** Pairs as `KEY=VALUE,KEY=VALUE`, with values that may be percent-encoded. */
function pairsKind(isKey: RegExp, what: string): SettingKind<Readonly<Record<string, string>>> {
  return {
    placeholder: "KEY=VALUE,…",
    parse(text) {
      const found: Record<string, string> = {};
      for (const pair of text.split(",").map((one) => one.trim())) {
        if (pair === "") continue;
        const equals = pair.indexOf("=");
        const key = pair.slice(0, Math.max(0, equals)).trim();
        const value = decodeValue(pair.slice(equals + 1).trim());
        if (!isKey.test(key) || value === undefined || /[\r\n\0]/.test(value)) {
          throw new Error(`must be ${what} as KEY=VALUE, separated by commas, with special characters as %XX`);
        }
        found[key] = value;
      }
      return found;
    },
  };
}

export const resourceAttributes = pairsKind(/^[\w./-]{1,120}$/, "attributes");
export const exportHeaders = pairsKind(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,120}$/, "header fields");

/** A number from 0 to 1. */
export const ratio: SettingKind<number> = {
  placeholder: "RATIO",
  parse(text) {
    const number = Number(text);
    if (/^(?:\d+\.?\d*|\.\d+)$/.test(text) && number <= 1) return number;
    throw new Error("must be a number from 0 to 1, such as 0.01");
  },
};

function decodeValue(value: string): string | undefined {
  try {
    return decodeURIComponent(value);
  } catch {
    return undefined;
  }
}
