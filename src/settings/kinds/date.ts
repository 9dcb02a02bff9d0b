import type { SettingKind } from "./kind.ts";
import { dayMs } from "../../lib/durations.ts";

/** A day in UTC, such as 2026-11-27. The value is its end, milliseconds since 1970. */
export const date: SettingKind<number> = {
  placeholder: "DATE",
  parse(text) {
    const startMs = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
    if (Number.isNaN(startMs)) throw new Error("must be a date, such as 2026-11-27");
    return startMs + dayMs;
  },
};
